import type { Ctx } from '../../action.ts'
import { type Permission, permissionOf, type Refusal } from '../../auth/policy.ts'
import { lastAdminRefusal } from '../accounts/people.ts'
import { personalRefusal } from '../organizations/service.ts'
import type { User } from '../users/schema.ts'
import type { AdminTeam, TeamAction, UserAction } from './schema.ts'

/** Minutes since the administrator confirmed their identity, for actions that give access to an account or team. */
export const FRESH_MINUTES = 5
/** The same, for other actions that cannot be undone easily. */
export const RECENT_MINUTES = 60

type Account = Pick<User, 'id' | 'role' | 'status'>

/**
 * Each returns why an administrator may not do this to the user, or undefined. The actions and `can` both use them, so
 * they always agree. They do not check for a recent confirmation of identity: the page asks for one.
 */
export const refusals = {
  readCode: ({ app: { config } }: Ctx, { role }: Account): Refusal | undefined => {
    if (config.ADMIN_SEES_CODES === 'off')
      return {
        code: 'forbidden',
        detail:
          'Administrators cannot read codes on this server (ADMIN_SEES_CODES=off). The user must read their mail.',
      }
    if (config.ADMIN_SEES_CODES === 'auto' && config.SMTP_URL)
      return {
        code: 'forbidden',
        detail: 'This server sends mail, so administrators cannot read codes. Set ADMIN_SEES_CODES=on to allow it.',
      }
    return role === 'admin' ? { code: 'forbidden', detail: 'The codes of administrators cannot be read.' } : undefined
  },
  resetPassword: ({ actor }: Ctx, { id }: Pick<Account, 'id'>): Refusal | undefined =>
    id === actor.userId
      ? {
          code: 'conflict',
          detail: 'Change your own password instead of resetting it.',
          details: { next: [{ route: 'POST /api/auth/change-password' }] },
        }
      : undefined,
  impersonate: (_: Ctx, { role, status }: Account): Refusal | undefined => {
    if (role === 'admin') return { code: 'forbidden', detail: 'No one can act as an administrator.' }
    return status === 'active'
      ? undefined
      : { code: 'conflict', detail: 'This account is suspended. Unsuspend it first.' }
  },
}

export async function userPermissions(ctx: Ctx, user: Account): Promise<Record<UserAction, Permission>> {
  const needed = permissionOf(await lastAdminRefusal(ctx, user.id))
  return {
    setRole: needed,
    suspend: needed,
    readCode: permissionOf(refusals.readCode(ctx, user)),
    resetPassword: permissionOf(refusals.resetPassword(ctx, user)),
    impersonate: permissionOf(refusals.impersonate(ctx, user)),
  }
}

export const teamPermissions = (team: AdminTeam): Record<TeamAction, Permission> => ({
  remove: permissionOf(personalRefusal(team)),
})
