import { contextOf, flow } from '../src/action.ts'
import { machine } from '../src/auth/policy.ts'
import { AppError } from '../src/errors.ts'
import * as accounts from '../src/features/accounts/service.ts'
import { demo } from './demo.ts'
import { welcome } from './welcome.ts'

/** Seeds call actions as a user, so every rule applies to them. Running them again changes nothing. */
export interface Seeded {
  made: string[]
  kept: string[]
}

const seed = (id: string, load: typeof welcome) =>
  flow(id, machine, async (ctx, _: Record<string, never>): Promise<Seeded> => {
    const userId = await accounts.firstAdmin(ctx, {})
    if (!userId)
      throw new AppError(
        'conflict',
        'Create an administrator first: tutti admin create, or open the setup link that tutti serve prints.',
      )
    return load(contextOf(ctx.app, await ctx.app.auth.actorFor(userId)))
  })

const DEMO = { email: 'demo@example.com', name: 'Demo' }

/**
 * Creates the demo team for `tutti serve --demo` and returns how to sign in. The password is random and shown once, so
 * that nobody else knows it. Does nothing in an installation that has users.
 */
export const loadDemoTeam = flow('seeds.demoTeam', machine, async (ctx, _: Record<string, never>): Promise<string> => {
  const first = await accounts.firstUser(ctx, {})
  if (first === DEMO.email)
    return `The demo team already exists. Sign in as ${DEMO.email} with the password from the first start. \
To set a new password:\n\n  tutti admin reset-password --email ${DEMO.email} --password-stdin`
  if (first !== null)
    throw new AppError(
      'conflict',
      `This installation already has users, so no demo account was created. Try the demo with another --data-dir, \
or load its projects for the administrator: tutti seed --demo`,
    )
  const password = Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString('base64url')
  await accounts.createAdmin(ctx, { ...DEMO, password })
  await loadDefaults(ctx, {})
  await loadDemo(ctx, {})
  return `A demo team was created for you to explore. Sign in with this password, which is shown only once:

  ${DEMO.email}
  ${password}`
})

export const loadDefaults = seed('seeds.defaults', welcome)
export const loadDemo = seed('seeds.demo', demo)
