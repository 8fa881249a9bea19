import type { Action, Ctx } from '../../action.ts'
import { AppError, type ErrorCode, invalid } from '../../errors.ts'

/**
 * Corrections of refused calls: a tool with long arguments keeps those of a refused call under a short id, and the next
 * call sends only what has to change, as values by their paths.
 */
export interface Correction {
  /** The argument that names the refused call. */
  readonly id: string
  /** The argument with the values by path. */
  readonly changes: string
  readonly keep: Action<{ id?: string; args: object }, string | undefined>
  readonly find: Action<{ id: string }, Record<string, unknown>>
}

type Arguments = Record<string, unknown>

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

interface Corrected {
  readonly args: Arguments
  /** The id of the refused call that was corrected. */
  readonly corrects?: string
}

const MOST_CHANGES = 200

/**
 * Returns the arguments of a call, with those of the refused call that it corrects. A whole call that names no refused
 * one needs none.
 */
export async function applyCorrection(ctx: Ctx, correction: Correction, args: Arguments): Promise<Corrected> {
  const { id, changes } = correction
  const { [id]: refused, [changes]: values = {}, ...rest } = args
  const isWhole = Object.values(rest).some(isObject)
  // The schema refuses everything else.
  if (typeof refused !== 'string' || !isObject(values) || Array.isArray(values)) return { args }
  if (refused.length > 20 && !isWhole) return { args }
  const paths = Object.entries(values)
  if (paths.length > MOST_CHANGES)
    throw invalid(
      `/${changes}`,
      `${changes} has ${paths.length} paths, but can have at most ${MOST_CHANGES}. Correct the rest with another call.`,
      'too_many',
    )
  const found = await findFor(ctx, correction, refused, isWhole)
  const corrected: Arguments = { ...structuredClone(found), ...rest }
  const removed: Removed = new Map()
  for (const [path, value] of paths) setAt(corrected, changes, path, value, removed)
  // The last items first, so that the others keep their places.
  for (const [list, places] of removed) for (const place of [...places].toSorted((a, b) => b - a)) list.splice(place, 1)
  return { args: corrected, ...(found && { corrects: refused }) }
}

/** Returns the arguments of the refused call. A whole call may name one that does not exist. */
async function findFor(ctx: Ctx, { find }: Correction, id: string, isWhole: boolean): Promise<Arguments | undefined> {
  try {
    return await find(ctx, { id })
  } catch (error) {
    if (isWhole && error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}

/** The places of removed items by their list: two paths may name one item. */
type Removed = Map<unknown[], Set<number>>

const listPlace = /^(0|[1-9]\d{0,3})$/

/** Sets the value at `epics.0.title`; null removes it. */
function setAt(args: Arguments, changes: string, path: string, value: unknown, removed: Removed): void {
  const names = path.split(/[./]/).filter((name) => name !== '')
  const last = names.pop()
  let at: unknown = args
  for (const name of names) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  const isPlace = !Array.isArray(at) || (listPlace.test(last ?? '') && Number(last) <= at.length)
  if (!isObject(at) || !isPlace || last === undefined || last === '__proto__')
    throw invalid(
      `/${changes}`,
      `${changes} has the path ${JSON.stringify(path.slice(0, 100))}, which is not in the plan.`,
    )
  if (value !== null) at[last] = value
  else if (Array.isArray(at)) removed.set(at, (removed.get(at) ?? new Set()).add(Number(last)))
  else delete at[last]
}

/** Errors that other arguments may avoid. */
const correctable = new Set<ErrorCode>(['invalid', 'not_found', 'conflict', 'conflict.cycle'])
const MOST_PATHS = 3

/** A call of a tool that takes corrections. */
export interface Correctable {
  readonly tool: string
  readonly correction: Correction
  /** The arguments, with those of the refused call that they correct. */
  readonly args: Arguments
  /** The id of that call, if there is one. */
  readonly corrects: string | undefined
}

/** Keeps the arguments of a refused call. Returns the sentence that says how to correct them, if they were kept. */
export async function keepArguments(
  ctx: Ctx,
  { tool, correction, args, corrects }: Correctable,
  { code, details }: AppError,
): Promise<string | undefined> {
  const { id, changes, keep } = correction
  const { idempotencyKey: _, [id]: __, [changes]: ___, ...rest } = args
  if (!correctable.has(code) || !Object.values(rest).some(isObject)) return undefined
  const kept = await keep(ctx, { id: corrects, args: rest })
  if (!kept) return undefined
  const { errors = [], subject } = details
  const own = errors
    .map(({ pointer }) => pointer.slice(1).split('/'))
    .filter(([first]) => first !== id && first !== changes)
  const paths = own.slice(0, MOST_PATHS).map((names) => names.join('.'))
  const wrong = paths.length > 0 ? paths : subject && Object.hasOwn(rest, subject.kind) ? [subject.kind] : ['path']
  const shape = JSON.stringify({ [id]: kept, [changes]: Object.fromEntries(wrong.map((path) => [path, '…'])) })
  return `Kept for 10 minutes; correct it: ${tool} ${shape}`
}
