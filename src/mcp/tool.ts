import type { Action } from '../action.ts'
import { known } from '../auth/policy.ts'
import { int, object, optional, type Static, type TObject, text } from '../schema.ts'
import { toolsetNames } from './toolsets.ts'

for (const name of toolsetNames) known.toolsets.add(name)

type Runs = Pick<Action<never, unknown>, 'id' | 'kind' | 'rule' | 'hints'>

/** A tool as agents see it. Hints, scope and strictness come from its action, so they cannot be forgotten here. */
export interface Tool {
  readonly name: string
  /** Former names, which agents still have in their notes and allow-lists. */
  readonly aliases?: readonly string[]
  readonly title: string
  readonly description: string
  /** The category, which is also the name of its toolset. */
  readonly toolset: string
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
  input: I
  /** Checks rights and writes the audit entry. */
  action: Action<A, R>
  /** Arguments that make a reading tool write, and the action for them. Callers who may only read do not see them. */
  writing?: { fields: readonly (keyof Static<I> & string)[]; action: Action<A, R> }
  /** Converts the arguments of the tool to the input of the action. */
  with: (input: Static<I>) => A
  /** Returns the part of the result that an agent needs, if it is less than the record. */
  show?: (result: R) => unknown
}

/** Explained once, in the instructions of the server: a description in every write tool would cost too many tokens. */
const idempotencyKey = optional(text(200, { minLength: 1 }))

export function tool<I extends TObject, A, R>(d: Definition<I, A, R>): Tool {
  const input = (d.writing ?? d).action.kind === 'write' ? object({ ...d.input.properties, idempotencyKey }) : d.input
  return {
    name: d.name,
    aliases: d.aliases,
    title: d.title,
    description: d.description,
    toolset: d.toolset,
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
      const result = await action(ctx, d.with(rest as Static<I>))
      return d.show ? d.show(result) : result
    },
  }
}

const given = (fields: readonly string[], args: Record<string, unknown>): string[] =>
  fields.filter((name) => args[name] !== undefined)

/** Returns the action that runs for these arguments, and the name of the call in error messages. */
export function callOf({ name, action, writing }: Tool, args: Record<string, unknown>): { name: string; action: Runs } {
  const fields = writing ? given(writing.fields, args) : []
  return writing && fields.length > 0
    ? { name: `${name} with ${fields.join(' and ')}`, action: writing.action }
    : { name, action }
}

/** Arguments of every list tool. */
export const listing = {
  limit: optional(int({ min: 1, max: 100, description: 'Default 20' })),
  cursor: optional(text(2000, { description: 'nextCursor of the previous page' })),
}

export const expectedVersion = optional(int({ min: 1, description: 'Refuse if it changed since this version' }))

/** An entry of a feed as a line: the rest is for dashboards. */
export const happened = <T extends { id: string; data: unknown }>({ id: _, data: __, ...entry }: T) => entry
