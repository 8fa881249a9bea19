import { describe, expect, test } from 'bun:test'
import { connections, type Way } from './harness.ts'
import { bars, type Cost, ceilings, sum } from './jobs/costs.ts'
import { doJob } from './jobs/tutti.ts'
import { jobNames } from './jobs/work.ts'
import { bestPeer, cheapest, table } from './peers/costs.ts'

/** The jobs that test/full/peers.test.ts gives to other programs too. */
describe('the 13 everyday jobs of agents', () => {
  const costs = new Map<string, Cost>()
  for (const [n, name] of jobNames.entries())
    test(name, async () => {
      const { transcript, ...cost } = await doJob(name, connections[n % connections.length] as Way)
      costs.set(name, cost)
      const ceiling = ceilings[name]
      if (cost.calls > ceiling.calls || cost.tokens > ceiling.tokens) console.error(transcript)
      expect(cost.calls).toBeLessThanOrEqual(ceiling.calls)
      expect(cost.tokens).toBeLessThanOrEqual(ceiling.tokens)
    }, 300_000)

  test('together stay below the limits, and cost less than other programs', () => {
    console.log(table(costs))
    const all = sum(costs.values())
    expect(all.calls).toBeLessThanOrEqual(bars.calls)
    expect(all.tokens).toBeLessThanOrEqual(bars.tokens)
    for (const name of jobNames) expect(costs.get(name)?.calls).toBeLessThanOrEqual(bestPeer(name).calls)
    expect(cheapest(costs).length).toBeGreaterThanOrEqual(bars.cheapest)
  })
})
