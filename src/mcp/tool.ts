import type { Action } from '../action.ts'
import { known } from '../auth/policy.ts'
import { int, object, optional, type Static, type TObject, text } from '../schema.ts'

type Runs = Pick<Action<never, unknown>, 'id' | 'kind' | 'rule' | 'hints'>

/**
 * A tool as agents see it. Hints, scope and strictness come from the action it runs, so they cannot be forgotten here.
 */
export interface Tool {
  readonly name: string
  /** Names it had before: agents have them in their notes and allow-lists. */
  readonly aliases?: readonly string[]
  readonly title: string
  readonly description: string
  /** The category, which is also the name of its toolset. */
  readonly toolset: string
  readonly core: boolean
  readonly input: TObject
  readonly action: Runs
  readonly writing?: { readonly fields: readonly string[]; readonly action: Runs }
  run(ctx: Parameters<Action<never, unknown>>[0], input: never): Promise<unknown>
}

interface Definition<I extends TObject, A, R> {
  name: string
  aliases?: readonly string[]
  title: string
  description: string
  toolset: string
  /** In the small `core` toolset too. */
  core?: true
  input: I
  /** Checked, scoped and audited there. */
  action: Action<A, R>
  /** Arguments with which a reader also writes, and what runs then: who may only read has it without them. */
  writing?: { fields: readonly (keyof Static<I> & string)[]; action: Action<A, R> }
  /** From the tool's arguments to the action's input. */
  with: (input: Static<I>) => A
  /** What of the answer an agent needs, where that is less than the record. */
  show?: (answer: R) => unknown
}

/**
 * Explained once, in the server's instructions: a description on every write tool would cost more tokens than it saves
 * mistakes.
 */
const idempotencyKey = optional(text(200, { minLength: 1 }))

export function tool<I extends TObject, A, R>(d: Definition<I, A, R>): Tool {
  known.toolsets.add(d.toolset)
  const input = (d.writing ?? d).action.kind === 'write' ? object({ ...d.input.properties, idempotencyKey }) : d.input
  return {
    name: d.name,
    aliases: d.aliases,
    title: d.title,
    description: d.description,
    toolset: d.toolset,
    core: d.core ?? false,
    input,
    action: d.action,
    writing: d.writing,
    run: async (
      ctx,
      {
        idempotencyKey: _,
        expectedVersion: __,
        ...rest
      }: Static<I> & { idempotencyKey?: string; expectedVersion?: number },
    ) => {
      const action = d.writing && given(d.writing.fields, rest).length > 0 ? d.writing.action : d.action
      const answer = await action(ctx, d.with(rest as Static<I>))
      return d.show ? d.show(answer) : answer
    },
  }
}

const given = (fields: readonly string[], args: Record<string, unknown>): string[] =>
  fields.filter((name) => args[name] !== undefined)

/** What a call with these arguments does, and its name in refusals. */
export function callOf({ name, action, writing }: Tool, args: Record<string, unknown>): { name: string; action: Runs } {
  const fields = writing ? given(writing.fields, args) : []
  return writing && fields.length > 0
    ? { name: `${name} with ${fields.join(' and ')}`, action: writing.action }
    : { name, action }
}

/** What every list tool takes. */
export const listing = {
  limit: optional(int({ min: 1, max: 100, description: 'Default 20' })),
  cursor: optional(text(2000, { description: 'nextCursor of the page before' })),
}

export const expectedVersion = optional(int({ min: 1, description: 'Refuse if it changed since this version' }))

/** An entry of a feed as a line: the rest is for dashboards. */
export const happened = <T extends { id: string; data: unknown }>({ id: _, data: __, ...entry }: T) => entry
