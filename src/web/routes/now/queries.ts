import { queryOptions } from '@tanstack/react-query'
import { ok, tasks } from '../../api.ts'

/** The tasks of the team that somebody holds. */
export const heldQuery = (team: string) =>
  queryOptions({
    queryKey: ['now', team],
    queryFn: async () => {
      const found = await ok(tasks.tasks.get({ query: { status: 'in_progress', limit: 100 } }))
      return ('items' in found ? found.items : []).flatMap((task) =>
        task.lease ? [{ ...task, lease: task.lease }] : [],
      )
    },
  })
