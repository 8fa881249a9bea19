import { queryOptions } from '@tanstack/react-query'
import type { TaskPage } from '../../../features/tasks/list-schema.ts'
import { ok, tasks } from '../../api.ts'

export const myWorkQuery = (team: string) =>
  queryOptions({
    queryKey: ['tasks', team, 'mine'],
    queryFn: async () =>
      (await ok(tasks.tasks.get({ query: { assignee: 'me', open: true, limit: 20, sort: 'updatedAt' } }))) as TaskPage,
  })
