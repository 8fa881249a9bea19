import type { Action, Ctx } from '../../action.ts'
import { type AppError, type ErrorCode, invalid } from '../../errors.ts'

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

/** Returns the arguments of a call, with those of the refused call that it corrects. */
export async function applyCorrection(
  ctx: Ctx,
  { id, changes, find }: Correction,
  args: Arguments,
): Promise<Arguments> {
  const { [id]: refused, [changes]: values = {}, ...rest } = args
  // The schema refuses everything else.
  if (typeof refused !== 'string' || refused.length > 20 || !isObject(values) || Array.isArray(values)) return args
  const corrected: Arguments = { ...structuredClone(await find(ctx, { id: refused })), ...rest }
  const removed: { list: unknown[]; index: number }[] = []
  for (const [path, value] of Object.entries(values)) setAt(corrected, changes, path, value, removed)
  // The last items first, so that the others keep their places.
  for (const { list, index } of removed.toSorted((a, b) => b.index - a.index)) list.splice(index, 1)
  return corrected
}

/** Sets the value at `epics.0.title`; null removes it. */
function setAt(
  args: Arguments,
  changes: string,
  path: string,
  value: unknown,
  removed: { list: unknown[]; index: number }[],
): void {
  const names = path.split(/[./]/).filter((name) => name !== '')
  const last = names.pop()
  let at: unknown = args
  for (const name of names) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  const isPlace = !Array.isArray(at) || (/^\d{1,4}$/.test(last ?? '') && Number(last) <= at.length)
  if (!isObject(at) || !isPlace || last === undefined || last === '__proto__')
    throw invalid(
      `/${changes}`,
      `${changes} has the path ${JSON.stringify(path.slice(0, 100))}, which is not in the plan.`,
    )
  if (value !== null) at[last] = value
  else if (Array.isArray(at)) removed.push({ list: at, index: Number(last) })
  else delete at[last]
}

/** Errors that other arguments may avoid. */
const correctable = new Set<ErrorCode>(['invalid', 'not_found', 'conflict', 'conflict.cycle'])
const MOST_PATHS = 3

/** A call of a tool that takes corrections. */
export interface Correctable {
  readonly tool: string
  readonly correction: Correction
  /** The arguments as the caller sent them. */
  readonly sent: Arguments
  /** The same, with those of the refused call that they correct. */
  readonly args: Arguments
}

/** Keeps the arguments of a refused call. Returns the sentence that says how to correct them, if they were kept. */
export async function keepArguments(
  ctx: Ctx,
  { tool, correction, sent, args }: Correctable,
  { code, details }: AppError,
): Promise<string | undefined> {
  const { id, changes, keep } = correction
  const { idempotencyKey: _, ...rest } = args
  if (!correctable.has(code) || !Object.values(rest).some(isObject)) return undefined
  const kept = await keep(ctx, { ...(typeof sent[id] === 'string' && { id: sent[id] }), args: rest })
  if (!kept) return undefined
  const { errors = [], subject } = details
  const paths = errors.slice(0, MOST_PATHS).map(({ pointer }) => pointer.slice(1).replaceAll('/', '.'))
  const wrong = paths.length > 0 ? paths : subject && subject.kind in rest ? [subject.kind] : ['path']
  const shape = JSON.stringify({ [id]: kept, [changes]: Object.fromEntries(wrong.map((path) => [path, '…'])) })
  return `Kept for 10 minutes; correct it: ${tool} ${shape}`
}
