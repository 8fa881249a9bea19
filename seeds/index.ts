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
    if (!userId) throw new AppError('conflict', 'Make an administrator first: tutti admin create, or open the set-up link.')
    return load(contextOf(ctx.app, await ctx.app.auth.actorFor(userId)))
  })

export const loadDefaults = seed('seeds.defaults', welcome)
export const loadDemo = seed('seeds.demo', demo)
