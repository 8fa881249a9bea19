import { randomBytes } from 'node:crypto'
import { and, eq, inArray } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { machine, person } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { AppError } from '../../errors.ts'
import type { App } from '../../services.ts'
import { notificationCreated } from '../notifications/events.ts'
import { onNotified } from '../notifications/hooks.ts'
import { notifications } from '../notifications/table.ts'
import { users } from '../users/table.ts'
import { type Message, requestFor } from './messages.ts'
import type { Provider } from './schema.ts'
import { integrations } from './table.ts'

const forwardingProviders: readonly Provider[] = ['slack', 'discord', 'webhook']
export const isForwarding = (provider: Provider): boolean => forwardingProviders.includes(provider)

// ---- sealed secrets

interface Secrets {
  /** The address that gets the messages, or a token. */
  secret: string
  signingKey?: string
}
export const newSigningKey = (): string => `whsec_${randomBytes(32).toString('base64url')}`
export const sealSecrets = (app: App, secrets: Secrets): string => app.seal.close(JSON.stringify(secrets))
export function unsealSecrets(app: App, sealed: string): Secrets {
  const text = app.seal.open(sealed)
  if (text === undefined)
    throw new AppError(
      'invalid',
      'The stored secret of this integration can no longer be decrypted. Connect the integration again.',
    )
  return JSON.parse(text) as Secrets
}

// ---- forwarding notifications

/** Enqueues one job for each notification and integration, so that a failing integration does not delay others. */
export const forwardNotifications = onNotified.handle(async (ctx, notices) => {
  const { config, outbound } = ctx.app
  if ((config.OUTBOUND === 'off' && outbound.allowed.isEmpty) || notices.length === 0) return
  const places = await ctx.db
    .select({ id: integrations.id, userId: integrations.userId, settings: integrations.settings })
    .from(integrations)
    .where(
      and(
        anyOf(integrations.userId, idList(notices.map((n) => n.userId))),
        inArray(integrations.provider, forwardingProviders),
      ),
    )
  const perUser = Map.groupBy(notices, (notice) => notice.userId)
  for (const { id, userId, settings } of places)
    for (const notice of perUser.get(userId) ?? []) {
      const { enabled, events } = settings
      const wanted = events.length === 0 || events.includes(notice.reason) || events.includes(notice.type)
      if (enabled && wanted)
        ctx.enqueue({ name: 'integrations.forward', data: { integrationId: id, notificationId: notice.id } })
    }
})

interface Delivery {
  integrationId: string
  notificationId: string
}

/** Reads the delivery when it is sent. Returns undefined if the integration was disabled or removed meanwhile. */
const findDelivery = read('integrations.due', machine, async (ctx, { integrationId, notificationId }: Delivery) => {
  const [found] = await ctx.db
    .select({
      place: { id: integrations.id, provider: integrations.provider, sealed: integrations.sealed },
      settings: integrations.settings,
      message: {
        id: notifications.id,
        createdAt: notifications.createdAt,
        type: notifications.type,
        reason: notifications.reason,
        title: notifications.title,
        message: notifications.message,
        link: notifications.link,
      },
    })
    .from(integrations)
    .innerJoin(notifications, and(eq(notifications.id, notificationId), eq(notifications.userId, integrations.userId)))
    .innerJoin(users, and(eq(users.id, integrations.userId), eq(users.status, 'active')))
    .where(eq(integrations.id, integrationId))
  return found?.settings.enabled ? found : undefined
})

/** Stores the result of the last delivery for the owner. */
export const storeDeliveryResult = write(
  'integrations.settle',
  person,
  async (ctx, { id, error }: { id: string; error: string | null }): Promise<void> => {
    await ctx.db
      .update(integrations)
      .set(error === null ? { lastDeliveredAt: ctx.now, lastError: null } : { lastError: error.slice(0, 500) })
      .where(eq(integrations.id, id))
  },
)

/** Tries to deliver once. Throws if the job should try again later; a permanent failure does not throw. */
export const forwardOne = flow('integrations.forward', machine, async (ctx, delivery: Delivery): Promise<void> => {
  const found = await findDelivery(ctx, delivery)
  if (!found) return
  const { link } = found.message
  const message: Message = {
    event: notificationCreated.name,
    ...found.message,
    link: link && (URL.parse(link, ctx.app.url)?.href ?? null),
  }
  const failed = await sendMessage(ctx, found.place, message)
  await storeDeliveryResult(ctx, { id: found.place.id, error: failed?.message ?? null })
  if (failed && (failed.code === 'upstream_failed' || failed.code === 'upstream_timeout')) throw failed
})

/** Sends a message and returns the error, if any. The error never contains the address, which is a secret. */
export async function sendMessage(
  { app, signal }: Ctx,
  { provider, sealed }: { provider: Provider; sealed: string },
  message: Message,
): Promise<AppError | undefined> {
  try {
    const { secret, signingKey } = unsealSecrets(app, sealed)
    const { status } = await app.outbound.send(secret, {
      method: 'POST',
      ...requestFor(provider, message, signingKey),
      mayBePrivate: true,
      signal,
    })
    if (status >= 200 && status < 300) return undefined
    const permanent = status >= 400 && status < 500 && ![408, 425, 429].includes(status)
    return new AppError(permanent ? 'conflict' : 'upstream_failed', `${provider} returned status ${status}.`)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
