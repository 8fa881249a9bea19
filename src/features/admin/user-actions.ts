import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { issueSecret, revealCode } from '../../auth/one-time-secrets.ts'
import { admin, recentAdmin, throwIfRefused } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { RESET_MINUTES, resetMail } from '../accounts/messages.ts'
import { endCredentials, endImpersonations, removeOtherMethods, requireAnotherAdmin } from '../accounts/people.ts'
import { startImpersonation } from '../accounts/sessions.ts'
import { oneLine } from '../mail/message.ts'
import { queueMail } from '../mail/service.ts'
import * as announcements from '../notifications/announcements.ts'
import type { Announcement, NotificationContent } from '../notifications/schema.ts'
import { notify } from '../notifications/service.ts'
import { organizationPlanChanged } from '../organizations/events.ts'
import { requireKnownPlan } from '../organizations/plans.ts'
import { memberships, organizations } from '../organizations/table.ts'
import {
  userCodeRead,
  userImpersonated,
  userPasswordReset,
  userRoleChanged,
  userSuspended,
  userUnsuspended,
} from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import { FRESH_MINUTES, RECENT_MINUTES, refusals } from './refusals.ts'
import type {
  AdminUser,
  Impersonation,
  PasswordReset,
  SentCode,
  Subscription,
  SubscriptionSet,
  Suspend,
} from './schema.ts'
import { findAdminUser } from './users.ts'

/** Locks the user, so that the checks still hold at the commit. */
async function lockUser(ctx: Ctx, id: string): Promise<User> {
  const [user] = await ctx.db.select(userColumns).from(users).where(eq(users.id, id)).for('no key update')
  if (!user) throw notFound('user', id)
  return user
}

async function changeUser(ctx: Ctx, { id }: User, set: Partial<typeof users.$inferInsert>): Promise<AdminUser> {
  await ctx.db
    .update(users)
    .set({ ...set, updatedAt: ctx.now, version: sql`${users.version} + 1` })
    .where(eq(users.id, id))
  return findAdminUser(ctx, id)
}

const sendSecurityNotice = (ctx: Ctx, { id }: User, title: string, message: string): Promise<void> =>
  notify(ctx, { userId: id, type: 'warning', reason: 'security', title, message })

// ---- role and suspension

export const setRole = write(
  'admin.setRole',
  recentAdmin(RECENT_MINUTES),
  async (ctx, { id, role }: { id: string; role: User['role'] }): Promise<AdminUser> => {
    if (role === 'user') await requireAnotherAdmin(ctx, id)
    const user = await lockUser(ctx, id)
    checkVersion(ctx, user)
    if (user.role === role) return findAdminUser(ctx, id)
    // No one may act as an administrator, and a former administrator may not act as others.
    await endImpersonations(ctx, id)
    const changed = await changeUser(ctx, user, { role })
    ctx.emit(userRoleChanged, { subjectId: id, userId: id, data: { from: user.role, to: role } })
    await sendSecurityNotice(
      ctx,
      user,
      role === 'admin' ? 'You are now an administrator' : 'You are no longer an administrator',
      `${ctx.actor.name} changed your role on this server.`,
    )
    return changed
  },
  { versioned: true },
)

export const suspend = write(
  'admin.suspend',
  admin,
  async (ctx, { id, reason }: Suspend & { id: string }): Promise<AdminUser> => {
    await requireAnotherAdmin(ctx, id)
    const user = await lockUser(ctx, id)
    checkVersion(ctx, user)
    if (user.status === 'suspended') return findAdminUser(ctx, id)
    await endCredentials(ctx, id)
    const changed = await changeUser(ctx, user, { status: 'suspended' })
    ctx.emit(userSuspended, { subjectId: id, userId: id, data: reason === undefined ? {} : { reason } })
    return changed
  },
  { versioned: true },
)

/** Sessions, keys and tokens that the suspension ended stay invalid. */
export const unsuspend = write(
  'admin.unsuspend',
  admin,
  async (ctx, { id }: { id: string }): Promise<AdminUser> => {
    const user = await lockUser(ctx, id)
    checkVersion(ctx, user)
    if (user.status === 'active') return findAdminUser(ctx, id)
    const changed = await changeUser(ctx, user, { status: 'active' })
    ctx.emit(userUnsuspended, { subjectId: id, userId: id })
    return changed
  },
  { versioned: true },
)

// ---- access to accounts

/** A write, although its route is a GET: it is audited and notifies the user. */
export const readCode = write(
  'admin.readCode',
  recentAdmin(FRESH_MINUTES),
  async (ctx, { id }: { id: string }): Promise<SentCode> => {
    const user = await lockUser(ctx, id)
    throwIfRefused(refusals.readCode(ctx, user))
    const found = await revealCode(ctx, user.email)
    if (!found)
      throw new AppError('not_found', 'This user has no valid code. They can request one on the sign-in page.')
    ctx.emit(userCodeRead, { subjectId: id, userId: id })
    await sendSecurityNotice(
      ctx,
      user,
      'An administrator read your sign-in code',
      `${ctx.actor.name} read the code to pass it on to you. If you did not ask for this, contact them.`,
    )
    return found
  },
  { secret: ['code'] },
)

/**
 * Removes the password and ends all credentials. The user signs in with the link or another sign-in method. Without a
 * mail server the administrator gets the link to pass it on, so using it does not confirm the user's address.
 */
export const resetPassword = write(
  'admin.resetPassword',
  recentAdmin(FRESH_MINUTES),
  async (ctx, { id }: { id: string }): Promise<PasswordReset> => {
    throwIfRefused(refusals.resetPassword(ctx, { id }))
    const user = await lockUser(ctx, id)
    await endCredentials(ctx, id)
    // A stranger may have created the account. The administrator gives the link to the person whom they know.
    if (!user.emailVerifiedAt) await removeOtherMethods(ctx, id)
    await changeUser(ctx, user, { passwordHash: null })
    const mailed = ctx.app.config.SMTP_URL !== undefined
    const withLink = !mailed && !refusals.readCode(ctx, user)
    const data = { forced: true, ...(withLink && { linkReturned: true }) }
    ctx.emit(userPasswordReset, { subjectId: id, userId: id, data })
    await sendSecurityNotice(
      ctx,
      user,
      'Your password was reset',
      `${ctx.actor.name} asks you to choose a new password${withLink ? ' with a link that they will send you' : ''}. ` +
        'All sessions, keys and tokens were ended.',
    )
    const issue = { purpose: 'reset' as const, minutes: RESET_MINUTES, subject: id, userId: id }
    const mail = resetMail(ctx, user, await issueSecret(ctx, { ...issue, data: { handedOver: !mailed } }))
    await queueMail(ctx, {
      ...mail,
      lines: [
        `Hello ${oneLine(user.name)},`,
        'An administrator of this server asks you to choose a new password. The old one no longer works.',
      ],
      notes: [
        `The link works once and expires after ${RESET_MINUTES} minutes. Request a new one at ${ctx.app.url}/forgot`,
      ],
    })
    if (mailed) return { reset: true, sent: true }
    return { reset: true, sent: false, ...(withLink ? { link: mail.button?.url } : { detail: onlyOperator }) }
  },
  { secret: ['link'] },
)

const onlyOperator =
  'This server sends no mail, and you are not allowed to see the link. Its operator can read it with `tutti outbox`.'

export const impersonate = write(
  'admin.impersonate',
  recentAdmin(FRESH_MINUTES),
  async (ctx, { id, reason }: { id: string; reason: string }): Promise<Impersonation> => {
    const user = await lockUser(ctx, id)
    throwIfRefused(refusals.impersonate(ctx, user))
    const answer = await startImpersonation(ctx, user, userIdOf(ctx.actor))
    ctx.emit(userImpersonated, { subjectId: id, userId: id, data: { reason, until: answer.expiresAt } })
    await sendSecurityNotice(
      ctx,
      user,
      'An administrator is acting as you',
      `${ctx.actor.name} can act as you for at most 30 minutes. Their reason: ${reason}`,
    )
    return answer
  },
  { secret: ['token'] },
)

// ---- notifications and plans

export const notifyUser = write(
  'admin.notify',
  admin,
  async (ctx, { id, ...content }: NotificationContent & { id: string }): Promise<Announcement> => {
    await findAdminUser(ctx, id)
    return announcements.send(ctx, { ...content, audience: { userIds: [id] } })
  },
)

/** Accepts any name while no plans are configured: the operator may add them later. */
export const setPlan = write(
  'admin.setPlan',
  admin,
  async (ctx, { id, plan, status, organizationId }: Subscription & { id: string }): Promise<SubscriptionSet> => {
    await findAdminUser(ctx, id)
    await requireKnownPlan(ctx, plan)
    const which = organizationId
      ? sql`exists (select 1 from ${memberships}
          where ${memberships.organizationId} = ${organizations.id} and ${memberships.userId} = ${id})`
      : and(eq(organizations.personal, true), eq(organizations.createdById, id))
    const [changed] = await ctx.db
      .update(organizations)
      .set({ plan, planStatus: status, updatedAt: ctx.now, version: sql`${organizations.version} + 1` })
      .where(
        and(
          which,
          organizationId ? eq(organizations.id, organizationId) : undefined,
          sql`${organizations.deletedAt} is null`,
        ),
      )
      .returning({ organizationId: organizations.id, plan: organizations.plan, status: organizations.planStatus })
    if (!changed) throw notFound('team', organizationId ?? 'personal', 'among those of this user')
    const { organizationId: changedId } = changed
    ctx.emit(organizationPlanChanged, {
      subjectId: changedId,
      organizationId: changedId,
      data: { userId: id, plan, status },
    })
    return changed
  },
)
