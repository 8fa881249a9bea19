import { queryOptions } from '@tanstack/react-query'
import { notifications, ok } from '../../api.ts'

export const inboxQuery = queryOptions({
  queryKey: ['notifications', 'list'],
  queryFn: () => ok(notifications.notifications.get({ query: { limit: 50 } })),
})
