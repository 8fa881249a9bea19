import { and, eq, gt, isNull, ne } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, person } from '../../auth/policy.ts'
import { hashSecret } from '../../auth/secrets.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { checkOutboundUrl } from '../../outside/outbound.ts'
import { loginSessions } from '../users/table.ts'
import { isValidKeys } from './encryption.ts'
import { pushSubscribed, pushUnsubscribed } from './events.ts'
import type { PushStatus, PushSubscribe, PushSubscription, PushSubscriptionPage } from './schema.ts'
import { readPublicKey } from './server-key.ts'
import { pushSubscriptions } from './table.ts'

const MOST_DEVICES = 20

export const readStatus = read(
  'push.readStatus',
  account('notifications:read'),
  async (ctx, _: Record<string, never>): Promise<PushStatus> => {
    const on = ctx.app.config.PUSH === 'on'
    return { on, publicKey: on ? await readPublicKey(ctx) : null }
  },
)

function requirePush({ app }: Ctx): void {
  if (app.config.PUSH === 'off')
    throw new AppError('forbidden', 'Push notifications are off: the operator of this server has not set PUSH=on.')
}

const visible = {
  id: pushSubscriptions.id,
  createdAt: pushSubscriptions.createdAt,
  userAgent: pushSubscriptions.userAgent,
  lastOkAt: pushSubscriptions.lastOkAt,
  sessionId: pushSubscriptions.sessionId,
}
type Row = Omit<PushSubscription, 'current'> & { sessionId: string }
const describe = ({ actor }: Ctx, { sessionId, ...row }: Row): PushSubscription => ({
  ...row,
  current: sessionId === actor.credentialId,
})

/** SQL condition: the login session has not ended. */
export const isLiveSession = (ctx: Ctx) => and(isNull(loginSessions.revokedAt), gt(loginSessions.expiresAt, ctx.now))

export const list = read(
  'push.list',
  account('notifications:read'),
  async (ctx, _: Record<string, never>): Promise<PushSubscriptionPage> => {
    requirePush(ctx)
    const rows = await ctx.db
      .select(visible)
      .from(pushSubscriptions)
      .innerJoin(loginSessions, and(eq(loginSessions.id, pushSubscriptions.sessionId), isLiveSession(ctx)))
      .where(eq(pushSubscriptions.userId, userIdOf(ctx.actor)))
      .orderBy(pushSubscriptions.createdAt, pushSubscriptions.id)
    return { items: rows.map((row) => describe(ctx, row)), nextCursor: null }
  },
)

function checkEndpoint({ app: { config, outbound } }: Ctx, endpoint: string): void {
  const url = URL.parse(endpoint)
  if (config.OUTBOUND === 'off' && !(url && outbound.allowed.isListed(url)))
    throw new AppError('forbidden', 'Push notifications cannot be sent: the operator of this server set OUTBOUND=off.')
  try {
    checkOutboundUrl(endpoint, outbound.allowed)
  } catch (error) {
    throw invalid('/endpoint', (error as Error).message)
  }
}

const decode = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))
/** Returns the keys of a browser as bytes. */
export const decodeKeys = ({ p256dh, auth }: PushSubscribe['keys']) => ({ p256dh: decode(p256dh), auth: decode(auth) })

/**
 * Sends the notifications of the caller to this browser from now on. A browser has one subscription: if someone else
 * used the browser before, theirs ends. Calling it again connects the subscription with the current login session.
 */
export const subscribe = write(
  'push.subscribe',
  person,
  async (ctx, { endpoint, keys }: PushSubscribe): Promise<PushSubscription> => {
    requirePush(ctx)
    checkEndpoint(ctx, endpoint)
    if (!(await isValidKeys(decodeKeys(keys))))
      throw invalid('/keys', 'These are not the keys of a browser: p256dh is a P-256 point, auth has 16 bytes.')
    const userId = userIdOf(ctx.actor)
    const endpointHash = hashSecret(endpoint)
    await endOther(ctx, endpointHash, userId)
    const known = await ctx.db.$count(pushSubscriptions, eq(pushSubscriptions.endpointHash, endpointHash))
    if (known === 0) await requireRoom(ctx, userId)
    const current = {
      sessionId: ctx.actor.credentialId as string,
      sealed: ctx.app.seal.close(JSON.stringify({ endpoint, keys })),
      userAgent: ctx.userAgent?.slice(0, 300) ?? null,
    }
    const [row] = await ctx.db
      .insert(pushSubscriptions)
      .values({ createdAt: ctx.now, userId, endpointHash, ...current })
      .onConflictDoUpdate({ target: pushSubscriptions.endpointHash, set: { userId, ...current } })
      .returning(visible)
    if (!row) throw new Error('insert returned nothing')
    if (known === 0) ctx.emit(pushSubscribed, { subjectId: row.id, userId })
    return describe(ctx, row)
  },
  { idempotent: true, bookkeeping: true },
)

/** Deletes the subscription that someone else has in the same browser. */
async function endOther(ctx: Ctx, endpointHash: string, userId: string): Promise<void> {
  const ended = await ctx.db
    .delete(pushSubscriptions)
    .where(and(eq(pushSubscriptions.endpointHash, endpointHash), ne(pushSubscriptions.userId, userId)))
    .returning({ id: pushSubscriptions.id, userId: pushSubscriptions.userId })
  for (const { id, userId: owner } of ended) ctx.emit(pushUnsubscribed, { subjectId: id, userId: owner })
}

async function requireRoom(ctx: Ctx, userId: string): Promise<void> {
  if ((await ctx.db.$count(pushSubscriptions, eq(pushSubscriptions.userId, userId))) >= MOST_DEVICES)
    throw new AppError('conflict', `Push notifications are on in ${MOST_DEVICES} browsers. Remove one of them first.`)
}

export const remove = write(
  'push.remove',
  person,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    requirePush(ctx)
    const userId = userIdOf(ctx.actor)
    const [gone] = await ctx.db
      .delete(pushSubscriptions)
      .where(and(eq(pushSubscriptions.id, id), eq(pushSubscriptions.userId, userId)))
      .returning({ id: pushSubscriptions.id })
    if (!gone) throw notFound('push_subscription', id)
    ctx.emit(pushUnsubscribed, { subjectId: id, userId })
    return { id, deleted: true }
  },
  { destructive: true },
)
