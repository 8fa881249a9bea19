import type { Action, Ctx } from '../../src/action.ts'
import type { App } from '../../src/services.ts'

/** The people of the demo. Their handle is the part of the address before the @. */
export const people = {
  ada: { name: 'Ada Lindqvist', email: 'ada@northlight.example' },
  ben: { name: 'Ben Okafor', email: 'ben@northlight.example' },
  chiara: { name: 'Chiara Rossi', email: 'chiara@northlight.example' },
  dana: { name: 'Dana Whitfield', email: 'dana@riverbank.example' },
} as const

/** The agents, each with the person whose token it uses. */
export const agents = {
  claude: { name: 'Claude Code (laptop)', for: 'ada', token: 'laptop' },
  codex: { name: 'Codex (build-1)', for: 'ben', token: 'build-1' },
  reviewer: { name: 'Reviewer', for: 'ada', token: 'reviewer' },
} as const

export type Person = keyof typeof people
export type AgentName = keyof typeof agents
export type Who = Person | AgentName
export const isAgent = (who: Who): who is AgentName => who in agents

/** When a step happens, before the start of the demo: at a time of an earlier day, or some minutes ago. */
export type Moment = { days: number; time: string } | { minutes: number }
export const ago = (days: number, time: string): Moment => ({ days, time })
export const minutesAgo = (minutes: number): Moment => ({ minutes })

/** Returns the id of something that an earlier step created, by the name under which that step kept it. */
export type Lookup = (name: string) => string

/** What a step may need besides the context of its call. */
export interface Stage {
  readonly app: App
  /** When the demo starts. */
  readonly now: Date
  readonly id: Lookup
  keep(name: string, id: string): void
  /** Returns the context of a call by somebody else, at the moment of this step. */
  as(who: Who | 'system' | 'nobody'): Promise<Ctx>
  /** The secret of an agent's token, once it is created. */
  readonly secrets: Map<AgentName, string>
}

/** One thing that somebody did. */
export interface Step {
  at: Moment
  by: Who | 'system' | 'nobody'
  run(ctx: Ctx, stage: Stage): Promise<unknown>
}

type AnyAction = Action<never, unknown>
type InputOf<A extends AnyAction> = Parameters<A>[1]

/** A call of an action. With `keep`, later steps find the id of the result under this name. */
export const act = <A extends AnyAction>(
  at: Moment,
  by: Who | 'system',
  action: A,
  input: InputOf<A> | ((id: Lookup, stage: Stage) => InputOf<A>),
  keep?: string,
): Step => ({
  at,
  by,
  run: async (ctx, stage) => {
    const given = input instanceof Function ? input(stage.id, stage) : input
    const result = await action(ctx, given as never)
    if (keep !== undefined) stage.keep(keep, (result as { id: string }).id)
  },
})

/** Returns the moment a number of days after the start, at 17:00: when something is due. */
export const dueIn = ({ now }: Stage, days: number): string => {
  const day = new Date(now.getTime() + days * 86_400_000)
  return `${day.toISOString().slice(0, 10)}T17:00:00.000Z`
}
