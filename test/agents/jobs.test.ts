import { describe, expect, test } from 'bun:test'
import { connections, type Way } from './harness.ts'
import { type Cost, ceilings } from './jobs/costs.ts'
import { doJob } from './jobs/tutti.ts'
import { jobNames } from './jobs/work.ts'
import { table } from './peers/costs.ts'

/** The jobs that test/full/peers.test.ts gives to other programs too. */
describe('what agents do all day', () => {
  const costs = new Map<string, Cost>()
  for (const [n, name] of jobNames.entries())
    test(name, async () => {
      const { transcript, ...cost } = await doJob(name, connections[n % connections.length] as Way)
      costs.set(name, cost)
      const ceiling = ceilings[name]
      if (process.env.SHOW || cost.calls > ceiling.calls || cost.tokens > ceiling.tokens) console.error(transcript)
      expect(cost.calls).toBeLessThanOrEqual(ceiling.calls)
      expect(cost.tokens).toBeLessThanOrEqual(ceiling.tokens)
    }, 60_000)

  test('what they cost together', () => {
    console.log(table(costs))
    expect(costs.size).toBe(jobNames.length)
  })
})
