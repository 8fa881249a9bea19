import type { Ctx } from '../../../action.ts'
import type { App } from '../../../services.ts'
import type { Worker } from './workers.ts'

/** How long a task that was named as the next one to a worker is named to others only if there is no other. */
const KEEP_MS = 60_000
const MOST = 1_000

interface Hint {
  worker: string
  until: number
}
const given = new WeakMap<App, Map<string, Hint>>()

const nameOf = ({ id, credentialId, connection, sessionId }: Worker): string =>
  [id, credentialId, connection, sessionId].join(' ')

/**
 * Remembers which task each worker was told to do next, so that two who finish at once are not sent to the same one. A
 * hint is no claim: it is kept in memory, and forgotten after a minute. Returns false if another worker was told the
 * task after `except`, the tasks of others, was read.
 */
export function takeHint(ctx: Ctx, worker: Worker, taskId: string, except: readonly string[]): boolean {
  if (!except.includes(taskId) && hintedToOthers(ctx, worker).includes(taskId)) return false
  const { app, now } = ctx
  const hints = given.get(app) ?? new Map<string, Hint>()
  given.set(app, hints)
  hints.delete(taskId)
  hints.set(taskId, { worker: nameOf(worker), until: Date.parse(now) + KEEP_MS })
  if (hints.size > MOST) hints.delete(hints.keys().next().value as string)
  return true
}

/** Returns the ids of tasks that other workers were told to do next. */
export function hintedToOthers({ app, now }: Ctx, worker: Worker): string[] {
  const own = nameOf(worker)
  const at = Date.parse(now)
  return [...(given.get(app) ?? [])].flatMap(([id, hint]) => (hint.worker !== own && hint.until > at ? [id] : []))
}
