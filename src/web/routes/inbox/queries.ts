import { type InfiniteData, useMutation, useQueryClient } from '@tanstack/react-query'
import type {
  Notification,
  NotificationCount,
  NotificationPage,
  NotificationPatch,
  View,
} from '../../../features/notifications/schema.ts'
import { change, notifications, ok } from '../../api.ts'
import { pagedQuery, useWrite } from '../../lib/data.ts'
import { countQuery } from '../../session.ts'
import { wrote } from '../../written.ts'

export const inboxQuery = (view: View) =>
  pagedQuery(['notifications', 'list', view], (page) =>
    ok(notifications.notifications.get({ query: { view, limit: 40, ...page } })),
  )

interface Mark {
  notification: Notification
  patch: NotificationPatch
}

/** The notification as it will be. */
const marked = (one: Notification, { read, done, snoozedUntil }: NotificationPatch): Notification => ({
  ...one,
  ...(read !== undefined && { readAt: read ? (one.readAt ?? new Date().toISOString()) : null }),
  ...(done && { readAt: one.readAt ?? new Date().toISOString() }),
  ...(done !== undefined && { done }),
  ...(snoozedUntil !== undefined && { snoozedUntil }),
})

/** Whether a notification that this view lists still belongs there. */
const stays: Record<View, (one: Notification) => boolean> = {
  needs: ({ done, snoozedUntil }) => !done && snoozedUntil === null,
  unread: ({ readAt }) => readAt === null,
  all: () => true,
}

const after = (list: InfiniteData<NotificationPage>, view: View, { notification, patch }: Mark) => ({
  ...list,
  pages: list.pages.map((page) => ({
    ...page,
    items: page.items.flatMap((one) => {
      if (one.id !== notification.id) return [one]
      const next = marked(one, patch)
      return stays[view](next) ? [next] : []
    }),
  })),
})

/** Marks at once, in the list and in all counts, and reverts if the server refuses. */
export function useMark(view: View) {
  const cache = useQueryClient()
  const lists = inboxQuery(view).queryKey
  const counts = countQuery.queryKey
  return useMutation({
    mutationFn: ({ notification, patch }: Mark) =>
      ok(notifications.notifications({ id: notification.id }).patch(patch, change())),
    onMutate: async (mark: Mark) => {
      await cache.cancelQueries({ queryKey: ['notifications'] })
      const before = { list: cache.getQueryData(lists), counts: cache.getQueryData(counts) }
      const next = marked(mark.notification, mark.patch)
      // An undone notification is not held back as new.
      wrote(mark.notification.id, 1)
      if (before.list) cache.setQueryData(lists, after(before.list, view, mark))
      if (before.counts) cache.setQueryData(counts, counted(before.counts, view, mark.notification, next))
      return before
    },
    onError: (_error, _mark, before) => {
      cache.setQueryData(lists, before?.list)
      cache.setQueryData(counts, before?.counts)
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['notifications'] }),
  })
}

const counted = (
  counts: NotificationCount,
  view: View,
  before: Notification,
  next: Notification,
): NotificationCount => ({
  ...counts,
  unread: counts.unread + Number(next.readAt === null) - Number(before.readAt === null),
  needs: counts.needs - Number(view === 'needs' && !stays.needs(next)),
})

export const useReadAll = () =>
  useWrite(() => ok(notifications.notifications['read-all'].patch({}, change())), ['notifications'])
