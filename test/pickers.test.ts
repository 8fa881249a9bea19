import { describe, expect, test } from 'bun:test'
import { filterOptions, markTyped } from '../src/web/components/picker/match.ts'
import { placePicker } from '../src/web/components/picker/placement.ts'
import { dueDay, dueLabel, localDay } from '../src/web/lib/times.ts'
import { parseDue } from '../src/web/routes/tasks/pickers/due-text.ts'

/** A Wednesday. */
const today = '2026-11-18'

describe('a typed due date', () => {
  test.each([
    ['today', today],
    ['tom', '2026-11-19'],
    ['fri', '2026-11-20'],
    ['Friday', '2026-11-20'],
    // The weekday that it is today means the next one.
    ['wed', '2026-11-25'],
    ['3d', '2026-11-21'],
    ['+2w', '2026-12-02'],
    ['in 3 days', '2026-11-21'],
    ['next week', '2026-11-23'],
    ['30 nov', '2026-11-30'],
    ['Nov 30', '2026-11-30'],
    ['30 november 2027', '2027-11-30'],
    ['2027-1-5', '2027-01-05'],
    // A date that is over means the one of the next year.
    ['1 nov', '2027-11-01'],
    ['18 nov', today],
  ])('%p on a Wednesday in November is %s', (text, day) => expect(parseDue(text, today)).toBe(day))

  test.each([
    ['3d', '2026-12-30', '2027-01-02'],
    ['1 jan', '2026-12-31', '2027-01-01'],
    ['1d', '2028-02-28', '2028-02-29'],
    ['1d', '2027-02-28', '2027-03-01'],
    ['29 feb', '2026-03-01', '2028-02-29'],
    ['1 month', '2027-01-31', '2027-02-28'],
    ['next month', '2026-12-31', '2027-01-31'],
    ['sun', '2026-12-31', '2027-01-03'],
    // Clocks change on these nights in Europe and in America.
    ['1d', '2026-03-28', '2026-03-29'],
    ['1d', '2026-03-29', '2026-03-30'],
    ['1w', '2026-10-24', '2026-10-31'],
    ['1d', '2026-10-25', '2026-10-26'],
    ['1d', '2026-11-01', '2026-11-02'],
  ])('%p on %s is %s', (text, from, day) => expect(parseDue(text, from)).toBe(day))

  test.each(['none', 'No', '-', 'clear'])('%p means no due date', (text) => expect(parseDue(text, today)).toBeNull())

  test.each(['', 'x', 'f', '31 nov', '2026-02-30', '3', '99999d', '30 nov 26', 'nov', '5 no'])(
    '%p means nothing',
    (text) => expect(parseDue(text, today)).toBeUndefined(),
  )
})

describe('the day of a due date', () => {
  const zone = process.env.TZ
  test.each(['America/Los_Angeles', 'UTC', 'Europe/Berlin', 'Pacific/Auckland'])('is the same in %s', (place) => {
    process.env.TZ = place
    try {
      expect(dueDay('2026-11-20T00:00:00.000Z')).toBe('2026-11-20')
      const noon = new Date(2026, 10, 20, 12).getTime()
      expect(dueLabel('2026-11-20T00:00:00.000Z', noon).text).toBe('today')
      expect(localDay(new Date(2026, 2, 29, 0, 30).getTime())).toBe('2026-03-29')
      expect(localDay(new Date(2026, 9, 25, 23, 30).getTime())).toBe('2026-10-25')
    } finally {
      process.env.TZ = zone
    }
  })
})

describe('the options of a picker', () => {
  const labels = (typed: string, names: readonly string[]) =>
    filterOptions(
      names.map((label) => ({ label })),
      typed,
    ).map(({ label }) => label)

  test('are found by words in any order, in any case, without accents', () => {
    const names = ['In progress', 'In review', 'Zoë Müller', 'Done']
    expect(labels('pro in', names)).toEqual(['In progress'])
    expect(labels('muller zoe', names)).toEqual(['Zoë Müller'])
    expect(labels('  ', names)).toEqual(names)
  })

  test('that begin with the typed text come first', () =>
    expect(labels('l', ['Critical', 'High', 'Very low', 'Low'])).toEqual(['Low', 'Very low', 'Critical']))

  test('mark the typed letters', () => {
    expect(markTyped('Zoë Müller', 'mu')).toEqual([
      { text: 'Zoë ', marked: false },
      { text: 'Mü', marked: true },
      { text: 'ller', marked: false },
    ])
    expect(markTyped('Done', '')).toEqual([{ text: 'Done', marked: false }])
  })
})

describe('the place of a picker', () => {
  const view = { width: 1280, height: 800 }
  const box = (left: number, top: number, width: number, height: number) => ({
    left,
    top,
    right: left + width,
    bottom: top + height,
  })
  test('is right of a card, or left of it at the edge of the window', () => {
    expect(placePicker(box(200, 100, 240, 90), view)).toMatchObject({ left: 444, top: 100 })
    expect(placePicker(box(1000, 100, 240, 90), view)).toMatchObject({ left: 676, top: 100 })
  })
  test('is below a row, or above it near the end of the window', () => {
    expect(placePicker(box(220, 100, 1000, 34), view)).toMatchObject({ left: 276, top: 138 })
    expect(placePicker(box(220, 760, 1000, 34), view)).toMatchObject({ left: 276, bottom: 44 })
  })
  test('is inside the window', () => {
    for (const left of [0, 500, 1270])
      for (const top of [0, 400, 790]) {
        const { left: x, top: y = 0, maxHeight } = placePicker(box(left, top, 20, 20), view)
        expect(x).toBeWithin(0, view.width - 320 + 1)
        expect(y + maxHeight).toBeLessThanOrEqual(view.height)
      }
  })
})
