import type { Ctx } from '../../action.ts'
import { oneLine } from '../mail/message.ts'
import { onManagerMade } from '../organizations/hooks.ts'
import { teamPage } from '../organizations/managers.ts'
import { ownersOf } from '../organizations/members.ts'
import { type Notice, notify } from './service.ts'

/** Notifies the owners of a team, except the one who acts, so that no one becomes a manager unnoticed. */
export async function notifyOwners(
  ctx: Ctx,
  organizationId: string,
  by: string,
  notice: Pick<Notice, 'title' | 'message'>,
): Promise<void> {
  const others = (await ownersOf(ctx, organizationId)).filter((userId) => userId !== by)
  const about = { ...notice, type: 'warning' as const, reason: 'security', link: teamPage(organizationId) }
  await notify(ctx, ...others.map((userId) => ({ ...about, userId })))
}

export const ownerHooks = [
  onManagerMade.handle(async (ctx, { organization, member, role }) => {
    const { userId, name } = ctx.actor
    if (userId === null) return
    await notifyOwners(ctx, organization.id, userId, {
      title: `${oneLine(member.name)} is now ${role} of ${oneLine(organization.name)}`,
      message: `${oneLine(name)} changed the role of ${member.email} from ${member.role} to ${role}.`,
    })
  }),
]
