import { beforeAll, describe, expect, test } from 'bun:test'
import { bars, ceilings } from '../agents/jobs/costs.ts'
import { jobNames } from '../agents/jobs/work.ts'
import { backlog } from '../agents/peers/backlog.ts'
import { bestPeer, cheapest, measured, table } from '../agents/peers/costs.ts'
import { hasBacklog, installPeers } from '../agents/peers/install.ts'
import { kazuph } from '../agents/peers/kazuph.ts'
import { perform } from '../agents/peers/peer.ts'
import { serverMemory } from '../agents/peers/server-memory.ts'
import { shrimp } from '../agents/peers/shrimp.ts'
import { taskMaster } from '../agents/peers/task-master.ts'

/** The 13 jobs of test/agents/jobs.test.ts, which keeps Tutti below its ceilings, done with other programs for agents. */
describe.if(process.env.FULL === '1')('agents with other trackers', () => {
  const peers = { ...measured }
  beforeAll(installPeers, 300_000)

  const programs = [taskMaster, shrimp, ...(hasBacklog(process.arch) ? [backlog] : []), kazuph, serverMemory]
  test.each(programs.map((program) => [program.name, program] as const))(
    '%s does its jobs as it did when it was measured',
    async (name, program) => {
      const costs = await perform(program)
      const before = measured[name] as typeof costs
      expect(Object.keys(costs).sort()).toEqual(Object.keys(before).sort())
      for (const job of jobNames) {
        const [now, then] = [costs[job], before[job]]
        if (!now || !then) continue
        expect(now.calls).toBe(then.calls)
        // Dates and short random ids are a few tokens longer or shorter, which is much of a short answer.
        expect(Math.abs(now.tokens - then.tokens)).toBeLessThanOrEqual(Math.max(12, then.tokens * 0.05))
      }
      peers[name] = costs
    },
    900_000,
  )

  test('need no fewer calls than with Tutti for any job, and more tokens for most', () => {
    const own = new Map(Object.entries(ceilings))
    console.log(table(own, peers))
    for (const name of jobNames) expect(ceilings[name].calls).toBeLessThanOrEqual(bestPeer(name, peers).calls)
    expect(cheapest(own, peers).length).toBeGreaterThanOrEqual(bars.cheapest)
  })
})
