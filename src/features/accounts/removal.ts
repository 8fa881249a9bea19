import { and, eq, inArray, or, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { recent } from '../../auth/policy.ts'
import { oneTimeSecrets } from '../../auth/table.ts'
import { AppError, invalid } from '../../errors.ts'
import { mailNotice } from '../mail/service.ts'
import { mails } from '../mail/table.ts'
import { memberRemoved, organizationDeleted } from '../organizations/events.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { userDeleted } from '../users/events.ts'
import { activeUser } from '../users/service.ts'
import { users } from '../users/table.ts'
import { accountRemoved } from './hooks.ts'
import { accountDeletedMail } from './messages.ts'
import { endCredentials, requireAnotherAdmin } from './people.ts'
import type { RemoveAccount } from './schema.ts'

interface Team {
  id: string
  name: string
  live: boolean
  others: number
  otherOwners: number
}

/** Returns the user's organizations and locks them, so that no one joins or leaves until the end of the transaction. */
async function teamsOf(ctx: Ctx, userId: string): Promise<Team[]> {
  const mine = ctx.db.select({ id: memberships.organizationId }).from(memberships).where(eq(memberships.userId, userId))
  const locked = await ctx.db
    .select({ id: organizations.id, name: organizations.name, deletedAt: organizations.deletedAt })
    .from(organizations)
    .where(inArray(organizations.id, mine))
    .orderBy(organizations.id)
    .for('update')
  const counted = await ctx.db
    .select({
      id: memberships.organizationId,
      others: sql<number>`count(*)::int`,
      otherOwners: sql<number>`(count(*) filter (where ${memberships.role} = 'owner'))::int`,
    })
    .from(memberships)
    .where(and(inArray(memberships.organizationId, mine), sql`${memberships.userId} <> ${userId}`))
    .groupBy(memberships.organizationId)
  const counts = new Map(counted.map((row) => [row.id, row]))
  return locked.map(({ deletedAt, ...team }) => ({
    ...team,
    live: deletedAt === null,
    others: counts.get(team.id)?.others ?? 0,
    otherOwners: counts.get(team.id)?.otherOwners ?? 0,
  }))
}

/**
 * Permanently deletes an account and its personal records. Records in teams stay, without the user's name. Refuses if a
 * team with other members would have no owner.
 */
export const removeAccount = write(
  'accounts.remove',
  recent(5),
  async (ctx, { confirm }: RemoveAccount): Promise<{ id: string; deleted: true }> => {
    const userId = userIdOf(ctx.actor)
    const user = await activeUser(ctx, userId)
    if (!user) throw new AppError('unauthenticated', 'This account no longer exists.')
    if (confirm.trim().toLowerCase() !== user.email.toLowerCase())
      throw invalid('/confirm', 'confirm must be the e-mail address of your account.')
    await requireAnotherAdmin(ctx, userId)
    const teams = await teamsOf(ctx, userId)
    const ownerless = teams.filter((team) => team.live && team.others > 0 && team.otherOwners === 0)
    if (ownerless.length > 0)
      throw new AppError(
        'conflict.last_owner',
        `You are the only owner of ${ownerless.map((team) => JSON.stringify(team.name)).join(', ')}, ` +
          'which has other members. Make another member an owner, or delete the team.',
      )
    // A personal organization with another owner becomes an ordinary team.
    await ctx.db
      .update(organizations)
      .set({ personal: false })
      .where(and(eq(organizations.createdById, userId), eq(organizations.personal, true)))
    await accountRemoved.call(ctx, { userId })
    const ids = teams.filter((team) => team.others === 0).map((team) => team.id)
    if (ids.length > 0)
      await ctx.db
        .delete(organizations)
        .where(or(inArray(organizations.id, ids), inArray(organizations.sandboxOf, ids)))
    for (const { id, name, others } of teams.filter((team) => team.live))
      if (others === 0) ctx.emit(organizationDeleted, { subjectId: id, userId, data: { name } })
      else ctx.emit(memberRemoved, { subjectId: id, organizationId: id, data: { userId } })
    await endCredentials(ctx, userId)
    await ctx.db
      .delete(oneTimeSecrets)
      .where(or(eq(oneTimeSecrets.userId, userId), eq(oneTimeSecrets.subject, user.email.toLowerCase())))
    await ctx.db.delete(mails).where(eq(sql`lower(${mails.recipient})`, user.email.toLowerCase()))
    await ctx.db.delete(users).where(eq(users.id, userId))
    await mailNotice(ctx, user, accountDeletedMail(ctx, user))
    ctx.emit(userDeleted, { subjectId: userId, userId })
    return { id: userId, deleted: true }
  },
  { destructive: true },
)
