import { and, eq, ne } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { atLeast, type Role } from '../../auth/policy.ts'
import { type Notice, notify } from '../notifications/service.ts'
import { memberships } from '../organizations/table.ts'

/** Whether the role lets its holder manage the team. To invite to such a role needs a person at a browser. */
export const manages = (role: Role): boolean => atLeast(role, 'admin')

/** Notifies the owners of a team, except the one who did it, so that nobody comes to manage the team unnoticed. */
export async function notifyOwners(
  ctx: Ctx,
  organizationId: string,
  by: string,
  notice: Pick<Notice, 'title' | 'message'>,
): Promise<void> {
  const owners = await ctx.db
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(
      and(eq(memberships.organizationId, organizationId), eq(memberships.role, 'owner'), ne(memberships.userId, by)),
    )
    .orderBy(memberships.joinedAt, memberships.userId)
  await notify(
    ctx,
    ...owners.map(({ userId }) => ({ ...notice, userId, type: 'warning' as const, reason: 'security' })),
  )
}
