import { queryOptions } from '@tanstack/react-query'
import type { Lane } from '../../../features/now/schema.ts'
import { now, ok, tasks, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'
import type { Hours } from './search.ts'

/** Calls change without an event, so it is also asked for every so often. */
const ASK_EVERY = 20_000

export const nowQuery = (team: string, hours: Hours) =>
  queryOptions({
    queryKey: ['now', team, hours],
    queryFn: async () => ({ ...(await ok(now.now.get({ query: { hours } }))), loadedAt: Date.now() }),
    refetchInterval: ASK_EVERY,
  })

export type LaneAct = 'take' | 'release' | { comment: string }

/** Taking over assigns the task to oneself, which moves the lease. */
export const useLaneAct = () =>
  useWrite(
    async ({ lane, act }: { lane: Lane; act: LaneAct }): Promise<void> => {
      if (!lane.task) return
      const one = tasks.tasks({ id: lane.task.id })
      await ok<unknown>(
        act === 'take'
          ? one.patch({ assignee: 'me' }, writeOptions())
          : act === 'release'
            ? one.release.post({}, writeOptions())
            : one.comments.post({ body: act.comment }, writeOptions()),
      )
    },
    ['now'],
  )
