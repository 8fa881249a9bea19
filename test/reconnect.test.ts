import { describe, expect, test } from 'bun:test'
import { reconnectDelay } from '../src/web/live/reconnect-delay.ts'

/** The longest possible random delay. */
const longest = (failures: number, ms: number, isVisible = true): number =>
  reconnectDelay({ failures, ms, isVisible }, () => 1)

describe('the dashboard, after it lost the connection', () => {
  test('tries again after a quarter, half and one second', () => {
    expect([0, 1, 2].map((failures) => longest(failures, 0))).toEqual([250, 500, 1000])
    expect(reconnectDelay({ failures: 0, ms: 0, isVisible: true }, () => 0)).toBe(125)
  })

  test('tries about every second for two minutes while the page is visible', () => {
    expect(longest(3, 2000)).toBe(1500)
    expect(longest(100, 119_000)).toBe(1500)
  })

  test('waits longer, and at most 15 seconds, after two minutes or in a hidden tab', () => {
    expect(longest(120, 120_000)).toBe(15_000)
    expect([3, 4, 5, 9].map((failures) => longest(failures, 2000, false))).toEqual([2000, 4000, 8000, 15_000])
  })
})
