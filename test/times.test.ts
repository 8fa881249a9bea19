import { expect, setSystemTime, spyOn, test } from 'bun:test'
import { reportError } from '../cli/terminal/report.ts'
import { parseDays, parseInstant, timeAgo, timeLeft } from '../cli/terminal/times.ts'
import { AppError } from '../src/errors.ts'
import { ago, agoLabel, lastCallLabel, minutes } from '../src/web/lib/times.ts'

/** A Sunday, late enough that the day differs between time zones. */
const now = new Date(2026, 10, 15, 21, 30)
const at = (text: string) => parseInstant(text, now)

test.each([
  ['2027-01-31', '2027-01-31T00:00:00.000Z'],
  ['2027-01-31T12:00:00+02:00', '2027-01-31T10:00:00.000Z'],
  ['today', '2026-11-15T00:00:00.000Z'],
  ['Tomorrow', '2026-11-16T00:00:00.000Z'],
  ['yesterday', '2026-11-14T00:00:00.000Z'],
  ['fri', '2026-11-20T00:00:00.000Z'],
  ['friday', '2026-11-20T00:00:00.000Z'],
  // The day that it is today means the next one.
  ['sun', '2026-11-22T00:00:00.000Z'],
  ['+3d', '2026-11-18T00:00:00.000Z'],
  ['-2w', '2026-11-01T00:00:00.000Z'],
  ['+4h', new Date(now.getTime() + 4 * 3_600_000).toISOString()],
])('instantOf("%s") is %s', (text, expected) => expect(at(text)).toBe(expected))

test.each(['someday', 'fr', '3d', '+3', '10', '2026-02-30', '', '2026-13-01', '+99999d'])(
  'instantOf(%p) is undefined',
  (text) => expect(at(text)).toBeUndefined(),
)

test('ago() and left() use one unit', () => {
  const off = (minutes: number) => new Date(Date.now() + minutes * 60_000 + 1000).toISOString()
  expect([0, -14, -120, -4 * 1440].map((n) => timeAgo(off(n)))).toEqual([
    'just now',
    '14 min ago',
    '2 h ago',
    '4 days ago',
  ])
  expect([-1, 0, 14, 120, 4 * 1440].map((n) => timeLeft(off(n)))).toEqual([
    'expired',
    '1 min left',
    '14 min left',
    '2 h left',
    '4 days left',
  ])
})

test('daysOf() reads a number of days, weeks or years', () => {
  expect(['90d', '90', '12w', '1y', '0x', '', '-3d', '1.5d'].map(parseDays)).toEqual([
    90,
    90,
    84,
    365,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

test('a lease conflict is reported with times relative to now', () => {
  setSystemTime(new Date('2026-11-15T09:30:00.000Z'))
  const shown = spyOn(console, 'error').mockImplementation(() => undefined)
  try {
    const held = {
      task: 'TUT-7',
      by: 'Grace',
      lastSeenAt: '2026-11-15T09:27:00.000Z',
      expiresAt: '2026-11-15T09:44:00.000Z',
    }
    const details = { held, next: [{ command: 'tutti tasks next' }] }
    expect(reportError(new AppError('conflict.lease_held', 'Claimed until 2026-11-15T09:44:00.000Z.', details))).toBe(5)
    expect(shown.mock.calls).toEqual([
      ['tutti: Grace works on TUT-7: last seen 3 min ago, 14 min left. Run: tutti tasks next'],
    ])
  } finally {
    shown.mockRestore()
    setSystemTime()
  }
})

const before = (seconds: number): string => new Date(now.getTime() - seconds * 1000).toISOString()

test('a page writes how long ago something was with the units s, min, h and d', () => {
  const times = [12, 200, 7500, 500_000].map((seconds) => ago(before(seconds), now.getTime()))
  expect(times).toEqual(['12 s', '3 min', '2 h', '5 d'])
  expect(minutes(14)).toBe('14 min')
})

test('a page writes “just now” within 10 seconds, and within 20 seconds for the last call', () => {
  expect(agoLabel(ago(before(4), now.getTime()))).toBe('just now')
  expect(agoLabel(ago(before(12), now.getTime()))).toBe('12 s ago')
  expect(agoLabel(lastCallLabel(before(12), now.getTime()))).toBe('just now')
  expect(agoLabel(lastCallLabel(before(32), now.getTime()))).toBe('32 s ago')
})
