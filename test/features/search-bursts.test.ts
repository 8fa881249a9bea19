import { expect, test } from 'bun:test'
import { Burst } from '../../src/features/search/burst.ts'

/** A burst with a clock that the test moves. */
function withClock() {
  const time = { now: 1000 }
  const burst = new Burst(() => time.now)
  return { time, burst }
}

test('a burst is many changes within half a second, and over when they stop', async () => {
  const { time, burst } = withClock()
  expect(burst.isOn).toBe(false)
  for (let i = 0; i < 20; i++) {
    expect(burst.isOn).toBe(false)
    burst.changed()
    time.now += 10
  }
  expect(burst.isOn).toBe(true)
  let over = false
  const waiting = burst.over(60_000).then(() => {
    over = true
  })
  await burst.over(0)
  expect(over).toBe(false)
  time.now += 500
  await waiting
  expect(burst.isOn).toBe(false)
})

test('changes at a slow pace are no burst', () => {
  const { time, burst } = withClock()
  for (let i = 0; i < 100; i++, time.now += 30) burst.changed()
  expect(burst.isOn).toBe(false)
})

test('one that does not end delays work only for a while, and a stopping server not at all', async () => {
  const { time, burst } = withClock()
  for (let i = 0; i < 40; i++) burst.changed()
  await burst.over(60_000, AbortSignal.abort())
  const waiting = burst.over(300)
  time.now += 300
  expect(burst.isOn).toBe(true)
  await waiting
})
