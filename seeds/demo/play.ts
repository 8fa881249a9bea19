import { type Ctx, contextOf } from '../../src/action.ts'
import { type Actor, anonymous, switchOrganization, system } from '../../src/auth/actor.ts'
import { Authenticator } from '../../src/auth/authenticate.ts'
import { AppError } from '../../src/errors.ts'
import { signIn } from '../../src/features/accounts/sessions.ts'
import type { App } from '../../src/services.ts'
import { codeHost } from './code-host.ts'
import { type AgentName, isAgent, type Moment, type Person, type Stage, type Step, type Who } from './script.ts'

/** People sign in again after this long. */
const LOGIN_DAYS = 7

interface Login {
  sessionId: string
  at: number
}

/**
 * Runs the steps in the order of their moments. Each is a call by a person or agent, with a clock that shows its
 * moment, so that the history has the times, actors and rules of one that really happened.
 */
export async function play(app: App, steps: readonly Step[]): Promise<void> {
  const now = app.clock()
  const timed = steps.map((step) => ({ step, time: timeOf(step.at, now) })).sort((a, b) => a.time - b.time)
  let moment = now
  const clock = () => moment
  const auth = new Authenticator(app.driver, app.jwt, clock, app.bus, app.events)
  const past: App = { ...app, clock, auth, outbound: codeHost(now), config: { ...app.config, OUTBOUND: 'on' } }
  const players = new Players(past)
  const ids = new Map<string, string>()
  const stage: Stage = {
    app: past,
    now,
    id: (name) => {
      const id = ids.get(name)
      if (id === undefined) throw new Error(`No earlier step of the demo has created "${name}".`)
      return id
    },
    keep: (name, id) => void ids.set(name, id),
    // Everybody works in one window, so that the calls of an agent renew all its leases.
    as: async (who) => contextOf(past, await players.actor(who, ids), { connection: `demo-${who}` }),
    secrets: players.secrets,
  }
  for (const { step, time } of timed) {
    moment = new Date(time)
    // The last calls decide when a credential was last used: its usage is stored with the first use since a flush.
    const last = 'minutes' in step.at && step.at.minutes < 1
    if (last) players.forget()
    await run(step, stage, players).catch((error: unknown) => {
      const what = error instanceof Error ? error.message : String(error)
      throw new Error(`The demo failed at ${moment.toISOString()}, in a call by ${step.by}: ${what}`, { cause: error })
    })
    if (last) await auth.flushUsage()
  }
  players.close()
}

/** Runs a step. Where the rule wants a fresh proof of identity, the person signs in again and repeats the call. */
async function run(step: Step, stage: Stage, players: Players): Promise<void> {
  try {
    await step.run(await stage.as(step.by), stage)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'forbidden.reauth') throw error
    players.signOut(step.by)
    await step.run(await stage.as(step.by), stage)
  }
}

function timeOf(at: Moment, now: Date): number {
  if ('minutes' in at) return now.getTime() - at.minutes * 60_000
  const day = new Date(now.getTime() - at.days * 86_400_000).toISOString().slice(0, 10)
  return Date.parse(`${day}T${at.time}:00.000Z`)
}

/** The actors of people and agents. Loaded again after any change of rights. */
class Players {
  readonly secrets = new Map<AgentName, string>()
  readonly #actors = new Map<Who, Actor>()
  readonly #logins = new Map<Person, Login>()
  readonly close: () => void

  constructor(private readonly app: App) {
    this.close = app.auth.watch(() => this.#actors.clear())
  }

  async actor(who: Who | 'system' | 'nobody', ids: ReadonlyMap<string, string>): Promise<Actor> {
    if (who === 'system') return system
    if (who === 'nobody') return anonymous
    const login = isAgent(who) ? undefined : await this.#login(who, ids.get(who) as string)
    const known = this.#actors.get(who)
    if (known) return known
    const secret = login
      ? (await this.app.jwt.sign({ userId: ids.get(who) as string, sessionId: login.sessionId }, this.app.clock()))
          .token
      : (this.secrets.get(who as AgentName) as string)
    const actor = await this.app.auth.authenticate(secret)
    const team = ids.get('northlight')
    const placed = team && actor.memberships.has(team) ? switchOrganization(actor, team) : actor
    this.#actors.set(who, placed)
    return placed
  }

  /** Makes the next call of a person begin with a sign-in. */
  signOut(who: Step['by']): void {
    this.#logins.delete(who as Person)
  }

  /** Makes the next call of everybody count as a use of their credential. */
  forget(): void {
    this.#actors.clear()
  }

  async #login(who: Person, userId: string): Promise<Login> {
    const at = this.app.clock().getTime()
    const known = this.#logins.get(who)
    if (known && at - known.at < LOGIN_DAYS * 86_400_000) return known
    const ctx: Ctx = contextOf(this.app, anonymous, { userAgent: browsers[who] })
    const { token } = await signIn(ctx, { userId, via: 'passkey' })
    const { credentialId } = await this.app.auth.authenticate(token)
    const login = { sessionId: credentialId as string, at }
    this.#logins.set(who, login)
    this.#actors.delete(who)
    return login
  }
}

const browsers: Record<Person, string> = {
  ada: 'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
  ben: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15',
  chiara: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36',
  dana: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36',
}
