import type { Ctx } from '../../../action.ts'
import type { App } from '../../../services.ts'
import type { Worker } from './workers.ts'

/** How long a task that was suggested to one worker is suggested to others only as a last resort. */
const KEEP_MS = 60_000
const MOST = 1_000

interface Hint {
  worker: string
  until: number
}
const hintsByApp = new WeakMap<App, Map<string, Hint>>()

const nameOf = ({ id, credentialId, connection, sessionId }: Worker): string =>
  [id, credentialId, connection, sessionId].join(' ')

/**
 * Remembers which task was suggested to each worker, so that two who finish at once get different ones. A suggestion is
 * not a claim: it stays in memory for a minute. Returns false if the task was suggested to another worker after
 * `except`, the suggestions to others, was read.
 */
export function takeHint(ctx: Ctx, worker: Worker, taskId: string, except: readonly string[]): boolean {
  if (!except.includes(taskId) && hintedToOthers(ctx, worker).includes(taskId)) return false
  const { app, now } = ctx
  const hints = hintsByApp.get(app) ?? new Map<string, Hint>()
  hintsByApp.set(app, hints)
  hints.delete(taskId)
  hints.set(taskId, { worker: nameOf(worker), until: Date.parse(now) + KEEP_MS })
  if (hints.size > MOST) hints.delete(hints.keys().next().value as string)
  return true
}

/** Returns the ids of tasks that were suggested to other workers. */
export function hintedToOthers({ app, now }: Ctx, worker: Worker): string[] {
  const own = nameOf(worker)
  const at = Date.parse(now)
  return [...(hintsByApp.get(app) ?? [])].flatMap(([id, hint]) => (hint.worker !== own && hint.until > at ? [id] : []))
}
