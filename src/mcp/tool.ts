import type { Action } from '../action.ts'
import { type ActorSummary, fullName } from '../records/user-or-agent.ts'
import { object, optional, type Static, type TObject, type TSchema, text } from '../schema.ts'
import { quoteText } from '../text/quoting.ts'
import { openCursor, sealCursor } from './cursors.ts'
import { callersProject } from './hooks.ts'
import type { Correction } from './refusals/corrections.ts'

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
  /** Arguments that still work, but that no list of tools shows. */
  readonly unlisted?: readonly string[]
  /** Fields that callers may try to set, and the argument that each is derived from. */
  readonly derived?: Readonly<Record<string, string>>
  /** Arguments that lists of tools show in a simpler form than all that they accept. */
  readonly listedAs?: Readonly<Record<string, TSchema>>
  readonly writing?: { readonly fields: readonly string[]; readonly action: Runs }
  /** How a refused call is corrected without its arguments. */
  readonly correction?: Correction
  run(ctx: Parameters<Action<never, unknown>>[0], input: never): Promise<ToolRun>
}

/** The whole result of the action, which names the authors of its texts, and the part that the agent receives. */
export interface ToolRun {
  result: unknown
  shown: unknown
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
  /** Arguments that still work, but that no list of tools shows. */
  unlisted?: readonly (keyof Static<I> & string)[]
  /** Fields that callers may try to set, and the argument that each is derived from. */
  derived?: Readonly<Record<string, keyof Static<I> & string>>
  /** Arguments that lists of tools show in a simpler form than all that they accept. */
  listedAs?: Readonly<Record<string, TSchema>>
  /** Arguments that make a reading tool write, and the action for them. Callers who may only read do not see them. */
  writing?: { fields: readonly (keyof Static<I> & string)[]; action: Action<A, R> }
  /** How a refused call is corrected without its arguments. */
  correction?: Correction
  /** A list that is limited to the caller's default project where `project` is left out. Its result says so. */
  narrowed?: true
  /** Converts the arguments of the tool to the input of the action. */
  with: (input: Static<I>) => A
  /** Returns the part of the result that an agent needs, if it is less than the record. */
  show?: (result: R, input: Static<I>, ctx: Ctx) => unknown
  /** Reads the only item of a list in full, to spare the agent the next call. */
  whole?: (ctx: Ctx, item: ItemOf<R>) => Promise<object>
}

type Ctx = Parameters<Action<never, unknown>>[0]
type ItemOf<R> = R extends { items: readonly (infer T)[] } ? T : never

/** The value of `project` for all projects. Leaving `project` out may mean the caller's default project. */
const EVERY_PROJECT = 'all'
const isList = ({ properties }: TObject): boolean => 'limit' in properties && 'project' in properties

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
    unlisted: d.unlisted,
    derived: d.derived,
    listedAs: d.listedAs,
    writing: d.writing,
    correction: d.correction,
    run: async (
      ctx,
      {
        idempotencyKey: _,
        expectedVersion: __,
        ...rest
      }: Static<I> & { idempotencyKey?: string; expectedVersion?: number; project?: string },
    ) => {
      const { project: _named, ...everywhere } = rest
      if (isList(d.input) && rest.project === EVERY_PROJECT) return runTool(d, ctx, everywhere as Static<I>)
      const [project] = d.narrowed && rest.project === undefined ? await callersProject.call(ctx, {}) : []
      if (!project) return runTool(d, ctx, rest as Static<I>)
      const { result, shown } = await runTool(d, ctx, { ...rest, project: project.id } as Static<I>)
      const limitedTo = `${project.key}, your default project; project: ${EVERY_PROJECT} lists more`
      return { result, shown: { limitedTo, ...(shown as object) } }
    },
  }
}

async function runTool<I extends TObject, A, R>(d: Definition<I, A, R>, ctx: Ctx, input: Static<I>): Promise<ToolRun> {
  const action = d.writing && givenFields(d.writing.fields, input).length > 0 ? d.writing.action : d.action
  const result = sealCursor(ctx, d.name, input, await action(ctx, d.with(openCursor(ctx, d.name, input))))
  const alone = d.whole && onlyItem(result)
  const whole = alone && (await d.whole?.(ctx, alone as ItemOf<R>))
  if (whole && JSON.stringify(whole).length <= MOST_WHOLE) return { result, shown: { ...result, items: [whole] } }
  return { result, shown: d.show ? await d.show(result, input, ctx) : result }
}

/** Characters of a record that a list holds in full. Of longer ones it holds what it holds of many. */
const MOST_WHOLE = 6_000

/** Returns the item of a list that has one, and no more on other pages. */
function onlyItem(result: unknown): unknown {
  const { items, total = 1, nextCursor } = result as { items: unknown[]; total?: number; nextCursor?: string | null }
  return items.length === 1 && total === 1 && !nextCursor ? items[0] : undefined
}

const givenFields = (fields: readonly string[], args: Record<string, unknown>): string[] =>
  fields.filter((name) => args[name] !== undefined)

/** Returns the action that runs for these arguments, and the name of the call in error messages. */
export function resolveCall(
  { name, action, writing }: Tool,
  args: Record<string, unknown>,
): { name: string; action: Runs } {
  const fields = writing ? givenFields(writing.fields, args) : []
  return writing && fields.length > 0
    ? { name: `${name} with ${fields.join(' and ')}`, action: writing.action }
    : { name, action }
}

/** Returns a feed entry as one line. */
export const feedLine = ({ at, actor, description }: Happened): string =>
  `${at.slice(0, 16)}Z ${fullName(actor)}: ${quoteText(description, 100)}`

interface Happened {
  at: string
  description: string
  actor: Pick<ActorSummary, 'name' | 'for'>
}

/** Returns the fields of a changed record that say what it is called, and its state. */
export const pick = <T extends object, const K extends keyof T>(record: T, ...names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, record[name]])) as Pick<T, K>
