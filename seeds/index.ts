import { contextOf, flow } from '../src/action.ts'
import { machine } from '../src/auth/policy.ts'
import { AppError } from '../src/errors.ts'
import * as accounts from '../src/features/accounts/service.ts'
import { printLink } from '../src/features/codes/service.ts'
import * as announcements from '../src/features/notifications/announcements.ts'
import { playDemo } from './demo/index.ts'
import { people } from './demo/script.ts'
import { LAST } from './demo/today.ts'
import { examples } from './examples.ts'
import { type Seeded, welcome } from './welcome.ts'

export type { Seeded }

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

export const loadDefaults = seed('seeds.defaults', welcome)
export const loadExamples = seed('seeds.demo', examples)

/** The person as whom a visitor of the demo is signed in. */
export const visitor = people.ada

/**
 * Creates the demo team for `tutti serve --demo`, unless it is there, and returns the path of a link that signs the
 * visitor in. Refuses an installation that has other users.
 */
export const openDemo = flow('seeds.demoTeam', machine, async (ctx, _: Record<string, never>): Promise<string> => {
  const first = await accounts.firstUser(ctx, {})
  if (first === null) await playDemo(ctx.app)
  else if (first !== visitor.email)
    throw new AppError(
      'conflict',
      `This installation already has users, so no demo was created. Try the demo with another --data-dir, or load \
example projects for the administrator: tutti seed --demo`,
    )
  else if (!(await announcements.list(ctx, { limit: 200 })).items.some(({ title }) => title === LAST))
    throw new AppError(
      'conflict',
      `The demo was interrupted while it was created. Delete ${ctx.app.config.DATA_DIR} and start it again.`,
    )
  return printLink(ctx, { email: visitor.email })
})
