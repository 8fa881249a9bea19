import { and, eq } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countGuess, forgetAttempts } from '../../auth/limits.ts'
import { hashPassword, needsRehash, verifyPassword } from '../../auth/passwords.ts'
import { anyone } from '../../auth/policy.ts'
import { hashSecret } from '../../auth/secrets.ts'
import { AppError } from '../../errors.ts'
import { signInFailed } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { sameEmail, userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import { countSignIn } from './people.ts'
import type { Login } from './schema.ts'
import type { Proof } from './sessions.ts'

const FAILURES = 5
const FAILURE_WINDOW = 15 * 60

const noteFailure = write(
  'accounts.noteFailure',
  anyone,
  async (ctx, { userId }: { userId: string | null }): Promise<void> => {
    ctx.emit(signInFailed, { subjectId: userId ?? undefined, userId })
  },
)

const storeRehash = write(
  'accounts.rehash',
  anyone,
  async (ctx, { id, from, to }: { id: string; from: string; to: string }): Promise<void> => {
    await ctx.db
      .update(users)
      .set({ passwordHash: to })
      .where(and(eq(users.id, id), eq(users.passwordHash, from)))
  },
)

export const loginKey = (email: string): string => `login:${hashSecret(email.toLowerCase())}`

/** Checks an e-mail address and password. Every password sign-in uses it, so all share one limit and one error. */
export async function provePassword(ctx: Ctx, { email, password }: Login): Promise<Proof> {
  const { app } = ctx
  await countSignIn(ctx)
  await countGuess(
    app.driver,
    loginKey(email),
    FAILURES,
    FAILURE_WINDOW,
    app.clock(),
    'failed sign-ins for this account',
  )
  const [user] = await ctx.db
    .select({ id: users.id, hash: users.passwordHash, status: users.status })
    .from(users)
    .where(sameEmail(email))
  const right = await verifyPassword(password, user?.hash)
  if (!right || !user?.hash || user.status !== 'active') {
    await noteFailure(ctx, { userId: user?.id ?? null })
    throw new AppError('unauthenticated', 'E-mail address or password is wrong.')
  }
  await forgetAttempts(app.driver, loginKey(email))
  if (!needsRehash(user.hash)) return { userId: user.id, passwordHash: user.hash }
  const passwordHash = await hashPassword(password)
  await storeRehash(ctx, { id: user.id, from: user.hash, to: passwordHash })
  return { userId: user.id, passwordHash }
}

/** Separate from the limit of sign-ins: the thief of a session must not lock its owner out. */
const guessKey = (userId: string): string => `guess:${userId}`

/** Throws unless `right` resolves to true. Counts and records wrong guesses. */
export async function proveIdentity(ctx: Ctx, right: () => Promise<boolean>, wrong: string): Promise<void> {
  const { app } = ctx
  const userId = userIdOf(ctx.actor)
  await countGuess(app.driver, guessKey(userId), FAILURES, FAILURE_WINDOW, app.clock(), 'wrong guesses')
  if (!(await right())) {
    await noteFailure(ctx, { userId })
    throw new AppError('forbidden', wrong)
  }
  await forgetAttempts(app.driver, guessKey(userId))
}

export async function ownAccount(ctx: Ctx): Promise<User & { passwordHash: string | null }> {
  const [user] = await ctx.db
    .select({ ...userColumns, passwordHash: users.passwordHash })
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  if (!user) throw new AppError('unauthenticated', 'This account no longer exists.')
  return user
}
