import { and, eq } from 'drizzle-orm'
import { type Ctx, contextOf, flow, read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { AppError, isUnavailable } from '../../errors.ts'
import { excerptOf } from '../../text/text.ts'
import { onNotified } from '../notifications/hooks.ts'
import { findUnreadNotification, type UnreadNotification } from '../notifications/service.ts'
import { isPaused, type NotificationPreferences, ruleFor } from '../users/notification-rules.ts'
import { loginSessions, users } from '../users/table.ts'
import { encryptMessage } from './encryption.ts'
import { pushUnsubscribed } from './events.ts'
import type { PushSubscribe } from './schema.ts'
import { authorizationFor } from './server-key.ts'
import { decodeKeys, isLiveSession } from './service.ts'
import { pushSubscriptions } from './table.ts'

/** How long the push service keeps a message for a device that is switched off. */
const TTL_SECONDS = 86_400
const MOST_PATH = 500

interface Delivery {
  subscriptionId: string
  notificationId: string
}

/** Enqueues one job for each notification and device, so that a failing push service does not delay others. */
export const enqueuePushes = onNotified.handle(async (ctx, notices) => {
  if (ctx.app.config.PUSH === 'off' || notices.length === 0) return
  const devices = await ctx.db
    .select({ id: pushSubscriptions.id, userId: pushSubscriptions.userId, preferences: users.preferences })
    .from(pushSubscriptions)
    .innerJoin(users, eq(users.id, pushSubscriptions.userId))
    .where(anyOf(pushSubscriptions.userId, idList(notices.map(({ userId }) => userId))))
  const perUser = Map.groupBy(notices, ({ userId }) => userId)
  for (const { id, userId, preferences } of devices)
    for (const notice of perUser.get(userId) ?? [])
      if (wantsPush(preferences.notifications, notice.reason, ctx.now))
        ctx.enqueue({ name: 'push.send', data: { subscriptionId: id, notificationId: notice.id } })
})

/** A pause holds what only informs; the inbox has it. Notifications about security are always sent. */
const wantsPush = (chosen: NotificationPreferences | undefined, reason: string, now: string): boolean =>
  reason === 'security' || (ruleFor(chosen, reason).push && !isPaused(chosen, now))

interface Device {
  id: string
  userId: string
  sealed: string
}

/** Returns the device, unless its user was suspended or has signed out there. */
const findDevice = read('push.findDevice', machine, async (ctx, id: string): Promise<Device | undefined> => {
  const [device] = await ctx.db
    .select({ id: pushSubscriptions.id, userId: pushSubscriptions.userId, sealed: pushSubscriptions.sealed })
    .from(pushSubscriptions)
    .innerJoin(loginSessions, and(eq(loginSessions.id, pushSubscriptions.sessionId), isLiveSession(ctx)))
    .innerJoin(users, and(eq(users.id, pushSubscriptions.userId), eq(users.status, 'active')))
    .where(eq(pushSubscriptions.id, id))
  return device
})

const storeSuccess = write(
  'push.storeSuccess',
  machine,
  async (ctx, { id }: Device): Promise<void> => {
    await ctx.db.update(pushSubscriptions).set({ lastOkAt: ctx.now }).where(eq(pushSubscriptions.id, id))
  },
  { bookkeeping: true },
)

/** Deletes a subscription that the push service no longer knows: the browser was removed, or the permission. */
const removeGone = write('push.removeGone', machine, async (ctx, { id, userId }: Device): Promise<void> => {
  await ctx.db.delete(pushSubscriptions).where(eq(pushSubscriptions.id, id))
  ctx.emit(pushUnsubscribed, { subjectId: id, userId })
})

/** Tries to send once. Throws if the job should try again later; a permanent failure is only logged. */
export const send = flow('push.send', machine, async (ctx, delivery: Delivery): Promise<void> => {
  const { app } = ctx
  const device = await findDevice(ctx, delivery.subscriptionId)
  if (!device) return
  // With the current rights of the reader: the record may have been moved out of their sight meanwhile.
  const reader = contextOf(app, await app.auth.actorFor(device.userId))
  const notification = await findUnreadNotification(reader, { id: delivery.notificationId })
  if (!notification) return
  const status = await post(ctx, device, notification)
  if (status >= 200 && status < 300) return storeSuccess(ctx, device)
  if (status === 404 || status === 410) return removeGone(ctx, device)
  const failed = new AppError('upstream_failed', `The push service returned status ${status}.`)
  if (status === 408 || status === 429 || status >= 500) throw failed
  app.log.warn('push notification refused', { subscription: device.id, error: failed })
})

/** Returns the status of the push service. Errors never contain the address, which is a secret. */
async function post(ctx: Ctx, { id, sealed }: Device, notification: UnreadNotification): Promise<number> {
  const { app, signal } = ctx
  const { endpoint, keys } = JSON.parse(app.seal.open(sealed) ?? '{}') as Partial<PushSubscribe>
  // Sealed with another master secret: the browser has to subscribe again.
  if (!endpoint || !keys) return 410
  try {
    const { status } = await app.outbound.send(endpoint, {
      method: 'POST',
      headers: {
        authorization: await authorizationFor(ctx, endpoint),
        'content-type': 'application/octet-stream',
        'content-encoding': 'aes128gcm',
        ttl: String(TTL_SECONDS),
        topic: topicOf(notification),
        urgency: notification.needsReader ? 'high' : 'normal',
      },
      body: await encryptMessage(JSON.stringify(messageOf(notification)), decodeKeys(keys)),
      mayBePrivate: true,
      redirects: 0,
      mostBytes: 64 << 10,
      signal,
    })
    return status
  } catch (error) {
    if (!(error instanceof AppError) || isUnavailable(error.code)) throw error
    app.log.warn('push notification not sent', { subscription: id, error })
    return 400
  }
}

/** A newer message about the same record replaces one that the push service has not delivered yet. 32 characters. */
const topicOf = ({ id, recordId }: UnreadNotification): string => (recordId ?? id).replaceAll('-', '')

/** What the service worker shows, and the page that it opens. Links elsewhere are followed from the inbox. */
const messageOf = ({ title, message, link, ...about }: UnreadNotification) => ({
  title,
  body: message === null ? '' : excerptOf(message),
  path: link && /^\/(?!\/)/.test(link) && link.length <= MOST_PATH ? link : '/inbox',
  tag: topicOf({ title, message, link, ...about }),
})
