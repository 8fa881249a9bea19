import { contextOf, flow } from '../src/action.ts'
import { machine } from '../src/auth/policy.ts'
import { AppError } from '../src/errors.ts'
import * as accounts from '../src/features/accounts/service.ts'
import { demo } from './demo.ts'
import { welcome } from './welcome.ts'

/** Seeds call actions as a user, so they obey every rule. Running them twice changes nothing. */
export interface Seeded {
  made: string[]
  kept: string[]
}

const seed = (id: string, load: typeof welcome) =>
  flow(id, machine, async (ctx, _: Record<string, never>): Promise<Seeded> => {
    const userId = await accounts.firstAdmin(ctx, {})
    if (!userId)
      throw new AppError('conflict', 'Make an administrator first: tutti admin create, or open the set-up link.')
    return load(contextOf(ctx.app, await ctx.app.auth.actorFor(userId)))
  })

const DEMO = { email: 'demo@example.com', name: 'Demo' }

/**
 * For `tutti serve --demo`: says how to sign in. The password is made up and shown once, so that nobody else knows it; where people are
 * already, nothing is put among their things.
 */
export const loadDemoTeam = flow('seeds.demoTeam', machine, async (ctx, _: Record<string, never>): Promise<string> => {
  const first = await accounts.firstUser(ctx, {})
  if (first === DEMO.email)
    return `The demo team is here already. Sign in as ${DEMO.email} with the password that its first start showed; a new one is set by:\n\n  tutti admin reset-password --email ${DEMO.email} --password-stdin`
  if (first !== null)
    throw new AppError(
      'conflict',
      'People use this installation, so no demo account was made. Try the demo with another --data-dir, or load its projects for the administrator: tutti seed --demo',
    )
  const password = Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString('base64url')
  await accounts.createAdmin(ctx, { ...DEMO, password })
  await loadDefaults(ctx, {})
  await loadDemo(ctx, {})
  return `A demo team is here to look around in. Sign in, with a password that is shown only now:\n\n  ${DEMO.email}\n  ${password}`
})

export const loadDefaults = seed('seeds.defaults', welcome)
export const loadDemo = seed('seeds.demo', demo)
