import { and, eq, inArray, isNotNull, isNull, or, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { recent } from '../../auth/policy.ts'
import { oneTimeSecrets } from '../../auth/table.ts'
import { AppError, invalid } from '../../errors.ts'
import { agents } from '../agents/table.ts'
import { decisionComments, decisions } from '../decisions/table.ts'
import { mailNotice } from '../mail/service.ts'
import { mails } from '../mail/table.ts'
import { memories } from '../memory/table.ts'
import { notes } from '../notes/table.ts'
import { memberRemoved, organizationDeleted } from '../organizations/events.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { skills } from '../skills/table.ts'
import { specVersions } from '../specs/table.ts'
import { letGo } from '../tasks/departures.ts'
import { taskComments, tasks } from '../tasks/table.ts'
import { uploads } from '../uploads/table.ts'
import { userDeleted } from '../users/events.ts'
import { users } from '../users/table.ts'
import { featureEvidence, featureReviews, features } from '../workflow/table.ts'
import { deletedMail } from './messages.ts'
import { activeUser, endCredentials, keepAnAdmin } from './people.ts'
import type { RemoveAccount } from './schema.ts'

interface Team {
  id: string
  name: string
  live: boolean
  others: number
  otherOwners: number
}

/** The user's organizations, locked, so that nobody joins or leaves while it is decided what becomes of them. */
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
 * An account and all that is only its user's, for good. What he made in teams stays there without his name; nobody else's work is deleted
 * with it, and no team is left without an owner.
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
    await keepAnAdmin(ctx, userId)
    const teams = await teamsOf(ctx, userId)
    const headless = teams.filter((team) => team.live && team.others > 0 && team.otherOwners === 0)
    if (headless.length > 0)
      throw new AppError(
        'conflict.last_owner',
        `You are the only owner of ${headless.map((team) => JSON.stringify(team.name)).join(', ')}, where others are members. Make somebody else owner, or delete what nobody needs.`,
      )
    await detach(ctx, userId)
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
    await mailNotice(ctx, user, deletedMail(ctx, user))
    ctx.emit(userDeleted, { subjectId: userId, userId })
    return { id: userId, deleted: true }
  },
  { destructive: true },
)

/** What belongs to teams stays, and what belongs to him alone goes, where the tables themselves would do otherwise. */
async function detach(ctx: Ctx, userId: string): Promise<void> {
  // One in which there is another owner goes on as a team like any other.
  await ctx.db
    .update(organizations)
    .set({ personal: false })
    .where(and(eq(organizations.createdById, userId), eq(organizations.personal, true)))
  await ctx.db
    .update(notes)
    .set({ createdById: null })
    .where(and(eq(notes.createdById, userId), isNotNull(notes.organizationId)))
  await ctx.db
    .update(uploads)
    .set({ userId: null })
    .where(and(eq(uploads.userId, userId), isNotNull(uploads.organizationId)))
  await ctx.db
    .update(features)
    .set({ assigneeType: null, assigneeId: null })
    .where(and(eq(features.assigneeType, 'user'), eq(features.assigneeId, userId)))
  await letGo(ctx, { type: 'user', id: userId })
  await ctx.db
    .update(tasks)
    .set({ leaseHolderId: null })
    .where(and(eq(tasks.leaseType, 'user'), eq(tasks.leaseHolderId, userId)))
  await withoutName(ctx, userId)
  for (const table of [skills, agents])
    await ctx.db.delete(table).where(and(eq(table.createdById, userId), isNull(table.organizationId)))
}

/** What he said stays, and does not tell that it was he. */
async function withoutName(ctx: Ctx, userId: string): Promise<void> {
  const name = 'Somebody who has left'
  for (const table of [taskComments, decisions, decisionComments, memories, specVersions])
    await ctx.db
      .update(table)
      .set({ authorId: null, authorName: name })
      .where(and(eq(table.authorType, 'user'), eq(table.authorId, userId)))
  // An agent that was not named speaks by its user's id.
  for (const table of [featureEvidence, featureReviews])
    await ctx.db.update(table).set({ actorId: null, actorName: name }).where(eq(table.actorId, userId))
}
