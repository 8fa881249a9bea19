import { and, eq, inArray } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { notify } from '../notifications/service.ts'
import { memberships } from '../organizations/table.ts'
import { readersOf } from '../projects/readers.ts'
import type { Decision } from './schema.ts'

const MOST = 20

/**
 * Notifies the owners and admins of the team who see the proposal, also of proposals by their own agent, but not of
 * their own proposals.
 */
export async function notifyDeciders(
  ctx: Ctx,
  { id, title, organizationId, projectId, author }: Decision,
): Promise<void> {
  const { userId, agent } = ctx.actor
  const managers = await ctx.db
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.organizationId, organizationId), inArray(memberships.role, ['owner', 'admin'])))
    .orderBy(memberships.userId)
    .limit(MOST)
  const people = managers.map((one) => one.userId).filter((one) => one !== userId || agent !== undefined)
  const readers = projectId === null ? people : await readersOf(ctx, projectId, people)
  const notice = {
    reason: 'decision',
    title: `Decide: ${title}`,
    message: `${author.name} proposed this decision.`,
    about: { kind: 'decision' as const, id },
  }
  await notify(ctx, ...readers.map((reader) => ({ ...notice, userId: reader })))
}
