import { expect, test } from 'bun:test'
import { Deadlines } from '../../src/features/tunnels/actions/deadlines.ts'
import { until } from '../support/until.ts'

test('an expired deadline is reported, and then none is left', async () => {
  let told = 0
  const deadlines = new Deadlines(1, () => told++)
  for (const id of ['a', 'b', 'c']) deadlines.add(id)
  await until(() => !deadlines.isWaiting)
  expect(told).toBeGreaterThan(0)
  expect(told).toBeLessThanOrEqual(3)
})

test('a deleted deadline is not reported', () => {
  const deadlines = new Deadlines(60_000, () => {
    throw new Error('It has ended.')
  })
  deadlines.add('a')
  deadlines.add('b')
  deadlines.delete('a')
  expect(deadlines.isWaiting).toBe(true)
  deadlines.delete('unknown')
  expect(deadlines.isWaiting).toBe(true)
  deadlines.delete('b')
  expect(deadlines.isWaiting).toBe(false)
  deadlines.add('c')
  deadlines.add('c')
  deadlines.delete('c')
  expect(deadlines.isWaiting).toBe(false)
})
