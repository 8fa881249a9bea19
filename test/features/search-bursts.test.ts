import { expect, test } from 'bun:test'
import { Burst } from '../../src/features/search/indexing/burst.ts'

/** A burst with a clock that the test moves. */
function withClock() {
  const time = { now: 1000 }
  const burst = new Burst(() => time.now)
  return { time, burst }
}

test('a burst is ten changes within a second, and ends when they stop', async () => {
  const { time, burst } = withClock()
  expect(burst.isOn).toBe(false)
  for (let i = 0; i < 10; i++) {
    expect(burst.isOn).toBe(false)
    burst.noteChange()
    time.now += 10
  }
  expect(burst.isOn).toBe(true)
  let over = false
  const waiting = burst.whenOver().then(() => {
    over = true
  })
  await burst.whenOver({ longest: 0 })
  expect(over).toBe(false)
  time.now += 1000
  await waiting
  expect(burst.isOn).toBe(false)
})

test('changes at a slow pace are not a burst', () => {
  const { time, burst } = withClock()
  for (let i = 0; i < 100; i++, time.now += 110) burst.noteChange()
  expect(burst.isOn).toBe(false)
})

test('a burst delays work for a limited time, and does not delay a stopping server', async () => {
  const { time, burst } = withClock()
  for (let i = 0; i < 40; i++) burst.noteChange()
  await burst.whenOver({ signal: AbortSignal.abort() })
  const waiting = burst.whenOver({ longest: 300 })
  time.now += 300
  expect(burst.isOn).toBe(true)
  await waiting
})

test('changes that continue for more than a minute are not a burst until there is a pause', () => {
  const { time, burst } = withClock()
  for (let i = 0; i < 700; i++, time.now += 90) {
    burst.noteChange()
    expect(burst.isOn).toBe(i >= 9 && (i - 9) * 90 < 60_000)
  }
  time.now += 2000
  for (let i = 0; i < 10; i++) burst.noteChange()
  expect(burst.isOn).toBe(true)
})
