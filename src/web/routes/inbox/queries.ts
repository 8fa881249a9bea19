import { type InfiniteData, useMutation, useQueryClient } from '@tanstack/react-query'
import type {
  Notification,
  NotificationCount,
  NotificationPage,
  NotificationPatch,
  View,
} from '../../../features/notifications/schema.ts'
import { inboxCountQuery } from '../../account/session.ts'
import { notifications, ok, writeOptions } from '../../api.ts'
import { pagedQuery, useWrite } from '../../lib/data.ts'
import { recordWrittenVersion } from '../../live/written-versions.ts'

export const inboxQuery = (view: View) =>
  pagedQuery(['notifications', 'list', view], (page) =>
    ok(notifications.notifications.get({ query: { view, limit: 40, ...page } })),
  )

interface NotificationChange {
  notification: Notification
  patch: NotificationPatch
}

/** The notification as it will be. */
const patchNotification = (one: Notification, { read, done, snoozedUntil }: NotificationPatch): Notification => ({
  ...one,
  ...(read !== undefined && { readAt: read ? (one.readAt ?? new Date().toISOString()) : null }),
  ...(done && { readAt: one.readAt ?? new Date().toISOString() }),
  ...(done !== undefined && { done }),
  ...(snoozedUntil !== undefined && { snoozedUntil }),
})

/** Whether a notification that this view lists still belongs there. */
const belongsInView: Record<View, (one: Notification) => boolean> = {
  needs: ({ done, snoozedUntil }) => !done && snoozedUntil === null,
  unread: ({ readAt }) => readAt === null,
  all: () => true,
}

const patchList = (list: InfiniteData<NotificationPage>, view: View, { notification, patch }: NotificationChange) => ({
  ...list,
  pages: list.pages.map((page) => ({
    ...page,
    items: page.items.flatMap((one) => {
      if (one.id !== notification.id) return [one]
      const next = patchNotification(one, patch)
      return belongsInView[view](next) ? [next] : []
    }),
  })),
})

/** Marks at once, in the list and in all counts, and reverts if the server refuses. */
export function useMarkNotification(view: View) {
  const cache = useQueryClient()
  const lists = inboxQuery(view).queryKey
  const counts = inboxCountQuery.queryKey
  return useMutation({
    mutationFn: ({ notification, patch }: NotificationChange) =>
      ok(notifications.notifications({ id: notification.id }).patch(patch, writeOptions())),
    onMutate: async (mark: NotificationChange) => {
      await cache.cancelQueries({ queryKey: ['notifications'] })
      const before = { list: cache.getQueryData(lists), counts: cache.getQueryData(counts) }
      const next = patchNotification(mark.notification, mark.patch)
      // An undone notification is not held back as new.
      recordWrittenVersion(mark.notification.id, 1)
      if (before.list) cache.setQueryData(lists, patchList(before.list, view, mark))
      if (before.counts) cache.setQueryData(counts, patchCounts(before.counts, view, mark.notification, next))
      return before
    },
    onError: (_error, _mark, before) => {
      cache.setQueryData(lists, before?.list)
      cache.setQueryData(counts, before?.counts)
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['notifications'] }),
  })
}

const patchCounts = (
  counts: NotificationCount,
  view: View,
  before: Notification,
  next: Notification,
): NotificationCount => ({
  ...counts,
  unread: counts.unread + Number(next.readAt === null) - Number(before.readAt === null),
  needs: counts.needs - Number(view === 'needs' && !belongsInView.needs(next)),
})

export const useMarkAllRead = () =>
  useWrite(() => ok(notifications.notifications['read-all'].patch({}, writeOptions())), ['notifications'])
