import { eq } from 'drizzle-orm'
import { flow, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { tryCode } from '../../auth/one-time-secrets.ts'
import { verifyPassword } from '../../auth/passwords.ts'
import { interactive } from '../../auth/policy.ts'
import { AppError, invalid } from '../../errors.ts'
import { wipeMail } from '../mail/service.ts'
import { sessionConfirmed } from '../users/events.ts'
import { loginSessions } from '../users/table.ts'
import { ownAccount, proveIdentity } from './password-proof.ts'
import type { Confirmed, Reauth } from './schema.ts'

const tryOwnCode = write(
  'accounts.tryCode',
  interactive,
  async (ctx, { email, code }: { email: string; code: string }): Promise<boolean> => {
    const tried = await tryCode(ctx, email, code)
    if (tried?.right) await wipeMail(ctx, email, 'code')
    return tried?.right ?? false
  },
)

const markConfirmed = write(
  'accounts.markConfirmed',
  interactive,
  async (ctx, _: Record<string, never>): Promise<Confirmed> => {
    const sessionId = ctx.actor.credentialId as string
    await ctx.db.update(loginSessions).set({ authenticatedAt: ctx.now }).where(eq(loginSessions.id, sessionId))
    ctx.emit(sessionConfirmed, { subjectId: sessionId, userId: userIdOf(ctx.actor) })
    return { authenticatedAt: ctx.now }
  },
)

/** Confirms the identity of the caller, for actions that require more than a session. */
export const reauth = flow(
  'accounts.reauth',
  interactive,
  async (ctx, { password, code }: Reauth): Promise<Confirmed> => {
    if ((password === undefined) === (code === undefined))
      throw invalid(password === undefined ? '/password' : '/code', 'Send either password or code.', 'exclusive')
    const user = await ownAccount(ctx)
    if (code !== undefined)
      await proveIdentity(
        ctx,
        () => tryOwnCode(ctx, { email: user.email, code }),
        'The code is wrong, was already used or has expired. Request a new code.',
      )
    else if (user.passwordHash)
      await proveIdentity(ctx, () => verifyPassword(password as string, user.passwordHash), 'The password is wrong.')
    else
      throw new AppError('forbidden', 'This account has no password. Confirm with a code sent by mail.', {
        next: [{ route: 'POST /api/auth/otp/send' }],
      })
    return markConfirmed(ctx, {})
  },
)
