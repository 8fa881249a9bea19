import type { Ctx } from '../../action.ts'
import { atLeast, type Role } from '../../auth/policy.ts'
import { type Notice, notify } from '../notifications/service.ts'
import { ownersOf } from '../organizations/members.ts'

/** Whether the role lets its holder manage the team. To invite to such a role needs a person at a browser. */
export const manages = (role: Role): boolean => atLeast(role, 'admin')

/** Notifies the owners of a team, except the one who did it, so that nobody comes to manage the team unnoticed. */
export async function notifyOwners(
  ctx: Ctx,
  organizationId: string,
  by: string,
  notice: Pick<Notice, 'title' | 'message'>,
): Promise<void> {
  const others = (await ownersOf(ctx, organizationId)).filter((userId) => userId !== by)
  await notify(ctx, ...others.map((userId) => ({ ...notice, userId, type: 'warning' as const, reason: 'security' })))
}
