import { createHmac, randomBytes } from 'node:crypto'
import { and, eq, gt, isNull, or } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt, networkOf, returnAttempt } from '../../auth/limits.ts'
import { minutesAfter } from '../../auth/one-time-secrets.ts'
import { anyone, interactive, recent } from '../../auth/policy.ts'
import { deriveKey, hashSecret } from '../../auth/secrets.ts'
import { AppError, type DeviceError } from '../../errors.ts'
import { NOTICE_MINUTES } from '../accounts/messages.ts'
import type { SignedIn } from '../accounts/schema.ts'
import { signIn } from '../accounts/sessions.ts'
import { lockSession } from '../accounts/sign-in-methods.ts'
import { oneLine } from '../mail/message.ts'
import { mailNotice } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import type { User } from '../users/schema.ts'
import { users } from '../users/table.ts'
import { deviceApproved, deviceClaimed, deviceDenied } from './events.ts'
import type { Device, DeviceDecision, DevicePoll, DeviceRef, DeviceStart, DeviceStarted } from './schema.ts'
import { deviceCodes as table } from './table.ts'
import { newUserCode, readUserCode, withDash } from './user-code.ts'

const LIFE_SECONDS = 600
const INTERVAL = 5
/** Seconds added to the interval for every poll that comes too soon. */
const SLOWER = 5
const WINDOW = 600
const WRONG_CODES = { session: 5, network: 10 }

const visible = {
  clientName: table.clientName,
  userAgent: table.userAgent,
  ip: table.ip,
  createdAt: table.createdAt,
  expiresAt: table.expiresAt,
  status: table.status,
}

function requireDeviceFlow({ app }: Ctx): void {
  if (app.config.DEVICE_FLOW === 'off')
    throw new AppError(
      'forbidden',
      'This server does not allow devices to sign in with a code. Use an API key instead.',
      { next: [{ command: 'tutti login --with-token' }] },
    )
}

const hashUserCode = (ctx: Ctx, code: string): string =>
  createHmac('sha256', deriveKey(ctx.app.secret, 'device-code')).update(code).digest('hex')

// ---- the device

const storeDevice = write(
  'devices.put',
  anyone,
  async (ctx, { deviceCode, clientName }: { deviceCode: string; clientName: string }): Promise<string> => {
    // If the short code is in use, which is very rare, tries another one.
    for (;;) {
      const userCode = newUserCode()
      const [made] = await ctx.db
        .insert(table)
        .values({
          deviceHash: hashSecret(deviceCode),
          userHash: hashUserCode(ctx, userCode),
          clientName,
          userAgent: ctx.userAgent && oneLine(ctx.userAgent, 300),
          ip: ctx.ip,
          status: 'pending',
          interval: INTERVAL,
          createdAt: ctx.now,
          expiresAt: new Date(Date.parse(ctx.now) + LIFE_SECONDS * 1000).toISOString(),
        })
        .onConflictDoNothing({ target: table.userHash })
        .returning({ id: table.id })
      if (made) return userCode
    }
  },
)

export const request = flow(
  'devices.request',
  anyone,
  async (ctx, { clientName }: DeviceStart): Promise<DeviceStarted> => {
    requireDeviceFlow(ctx)
    const { app } = ctx
    const most = app.config.RATE_LIMIT_DEVICE
    await countAttempt(app.driver, `device:${networkOf(ctx.ip)}`, most, WINDOW, app.clock(), 'device sign-in requests')
    const deviceCode = randomBytes(32).toString('base64url')
    const userCode = withDash(
      await storeDevice(ctx, { deviceCode, clientName: oneLine(clientName ?? '') || 'Unnamed device' }),
    )
    const verificationUri = `${app.url}/device`
    return {
      deviceCode,
      userCode,
      verificationUri,
      verificationUriComplete: `${verificationUri}?code=${userCode}`,
      expiresIn: LIFE_SECONDS,
      interval: INTERVAL,
    }
  },
)

interface PollError {
  error: DeviceError
  /** Seconds to wait now. */
  interval?: number
}

/** Returns the error instead of throwing it: throwing would roll back the longer interval. */
const recordPoll = write('devices.notePoll', anyone, async (ctx, { hash }: { hash: string }): Promise<PollError> => {
  const waiting = and(eq(table.deviceHash, hash), eq(table.status, 'pending'))
  const [before] = await ctx.db
    .select({ interval: table.interval, lastPollAt: table.lastPollAt })
    .from(table)
    .where(waiting)
    .for('update')
  // The user decided concurrently: the next poll returns the result.
  if (!before) return { error: 'authorization_pending' }
  const tooSoon =
    before.lastPollAt !== null && Date.parse(ctx.now) - Date.parse(before.lastPollAt) < before.interval * 1000
  const interval = before.interval + (tooSoon ? SLOWER : 0)
  await ctx.db.update(table).set({ interval, lastPollAt: ctx.now }).where(waiting)
  return { error: tooSoon ? 'slow_down' : 'authorization_pending', interval }
})

/** One statement marks the code as used, so only one of several concurrent polls gets the session. */
const redeem = write(
  'devices.redeem',
  anyone,
  async (ctx, { hash }: { hash: string }): Promise<SignedIn | PollError> => {
    const [device] = await ctx.db
      .update(table)
      .set({ status: 'used' })
      .where(and(eq(table.deviceHash, hash), eq(table.status, 'approved'), gt(table.expiresAt, ctx.now)))
      .returning({ userId: table.claimedById, clientName: table.clientName })
    if (!device?.userId) return { error: 'expired_token' }
    const [alive] = await ctx.db
      .select({ id: users.id })
      .from(users)
      .where(and(eq(users.id, device.userId), eq(users.status, 'active')))
    if (!alive) return { error: 'access_denied' }
    const answer = await signIn(ctx, { userId: device.userId, via: 'device', device: device.clientName })
    await notifyUser(ctx, answer.user, device.clientName)
    return answer
  },
)

async function notifyUser(ctx: Ctx, user: User, clientName: string): Promise<void> {
  const title = `New device: ${clientName}`
  await mailNotice(ctx, user, {
    to: user.email,
    kind: 'new_device',
    subject: title,
    lines: [
      `${clientName} is now signed in to your account, from the address ${ctx.ip ?? 'unknown'}.`,
      'The device was approved in your browser and can do everything that you can do.',
    ],
    notes: [`If this was not you, end the session at ${ctx.app.url}/settings/sessions and change your password.`],
    expiresAt: minutesAfter(ctx.now, NOTICE_MINUTES),
  })
  await notify(ctx, {
    userId: user.id,
    reason: 'security',
    title,
    message: `Signed in from ${ctx.ip ?? 'unknown'}.`,
    link: '/settings/sessions',
  })
}

const reasons: Record<DeviceError, string> = {
  authorization_pending: 'This device is not approved yet. Poll again later.',
  slow_down: 'The device polls too often. Wait longer between polls.',
  access_denied: 'The user refused this device.',
  expired_token: 'The code is unknown, was already used or has expired. Start again.',
}
const pollError = ({ error, interval }: PollError): AppError =>
  new AppError('invalid.device', reasons[error], { error, ...(interval && { retryAfter: interval }) })

export const poll = flow('devices.poll', anyone, async (ctx, { deviceCode }: DevicePoll): Promise<SignedIn> => {
  requireDeviceFlow(ctx)
  const hash = hashSecret(deviceCode)
  const [found] = await ctx.db
    .select({ status: table.status, expiresAt: table.expiresAt })
    .from(table)
    .where(eq(table.deviceHash, hash))
  if (!found || found.status === 'used' || found.expiresAt <= ctx.now) throw pollError({ error: 'expired_token' })
  if (found.status === 'denied') throw pollError({ error: 'access_denied' })
  const answer = found.status === 'approved' ? await redeem(ctx, { hash }) : await recordPoll(ctx, { hash })
  if ('error' in answer) throw pollError(answer)
  return answer
})

// ---- the user

/** SQL condition: the code is not expired and not claimed by another user. The first user who opens it claims it. */
const isReachable = (ctx: Ctx) =>
  and(gt(table.expiresAt, ctx.now), or(isNull(table.claimedById), eq(table.claimedById, userIdOf(ctx.actor))))

const unknownCodeError = () =>
  new AppError(
    'not_found',
    'No device shows this code, or it has expired. Compare the letters, or start again on the device.',
  )

/**
 * Counts the attempt before the lookup, so that concurrent guesses count too. A correct code does not count, and does
 * not reset the count of wrong ones.
 */
async function findDevice(
  ctx: Ctx,
  { userCode }: DeviceRef,
): Promise<Device & { id: string; claimedById: string | null }> {
  requireDeviceFlow(ctx)
  const { app, actor } = ctx
  const code = readUserCode(userCode)
  const counters: [string, number][] = [
    [`device-code:${actor.credentialId}`, WRONG_CODES.session],
    [`device-code:${networkOf(ctx.ip)}`, WRONG_CODES.network],
  ]
  for (const [key, most] of counters)
    await countAttempt(app.driver, key, most, WINDOW, app.clock(), 'wrong device codes')
  const [found] = await ctx.db
    .select({ ...visible, id: table.id, claimedById: table.claimedById })
    .from(table)
    .where(and(eq(table.userHash, hashUserCode(ctx, code)), isReachable(ctx)))
  if (!found) throw unknownCodeError()
  for (const [key] of counters) await returnAttempt(app.driver, key)
  return found
}

const claim = write('devices.claim', interactive, async (ctx, { id }: { id: string }): Promise<Device> => {
  const [device] = await ctx.db
    .update(table)
    .set({ claimedById: userIdOf(ctx.actor) })
    .where(and(eq(table.id, id), isReachable(ctx)))
    .returning(visible)
  if (!device) throw unknownCodeError()
  ctx.emit(deviceClaimed, { subjectId: id, userId: ctx.actor.userId })
  return device
})

export const showDevice = flow('devices.look', interactive, async (ctx, ref: DeviceRef): Promise<Device> => {
  const { id, claimedById, ...device } = await findDevice(ctx, ref)
  return claimedById ? device : claim(ctx, { id })
})

const decide = write(
  'devices.decide',
  interactive,
  async (ctx, { id, status }: { id: string; status: 'approved' | 'denied' }): Promise<Device> => {
    await lockSession(ctx, ctx.actor.credentialId as string)
    const mine = and(eq(table.id, id), isReachable(ctx))
    const [device] = await ctx.db
      .update(table)
      .set({ status, claimedById: userIdOf(ctx.actor) })
      .where(and(mine, eq(table.status, 'pending')))
      .returning(visible)
    if (!device) {
      const [answered] = await ctx.db.select({ status: table.status }).from(table).where(mine)
      if (!answered) throw unknownCodeError()
      throw new AppError(
        'conflict',
        `You have already ${answered.status === 'denied' ? 'refused' : 'approved'} this device.`,
      )
    }
    ctx.emit(status === 'approved' ? deviceApproved : deviceDenied, {
      subjectId: id,
      userId: ctx.actor.userId,
      data: { clientName: device.clientName, ip: device.ip },
    })
    return device
  },
)

/** Requires a recent sign-in: a stolen session, a key or another device must not approve further devices. */
export const approve = flow(
  'devices.approve',
  recent(15),
  async (ctx, { userCode, deny }: DeviceDecision): Promise<Device> => {
    const { id } = await findDevice(ctx, { userCode })
    return decide(ctx, { id, status: deny ? 'denied' : 'approved' })
  },
)
