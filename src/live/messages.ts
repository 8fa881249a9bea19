import type { EventCatalogue } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import { toEntry } from '../records/feed.ts'

export type Notice =
  | { op: 'hello'; version: string; epoch: string; cursor: string; userId: string; limits: object }
  | { op: 'subscribed'; ref?: unknown; topics: string[]; refused: { topic: string; code: string }[]; cursor: string }
  | { op: 'unsubscribed'; ref?: unknown; topics: string[] }
  | { op: 'ready'; cursor: string }
  | { op: 'reset'; cursor: string; reason: ResetReason }
  | { op: 'revoked'; topics: string[] }
  | { op: 'tick'; cursor: string }
  | { op: 'presence'; topic: string; [part: string]: unknown }
  | EphemeralNotice
  | { op: 'error'; ref?: unknown; code: string; detail: string }

/** Notices for the current subscribers of a topic. They are not stored and cannot be replayed. */
export type EphemeralNotice =
  | { op: 'output'; topic: string; actionId: string; n: number; line: string }
  | { op: 'action'; topic: string; tunnelId: string; actionId: string; state: string }
  | { op: 'requests'; topic: string; tunnelId: string; items: readonly object[] }

/** Why missed events cannot be replayed. `epoch`: restored or moved. `age`: over 24 h. `count`: over 10,000 events. */
export type ResetReason = 'epoch' | 'age' | 'count'

/** An event as clients receive it, without its cursor, worded as in the activity feed. */
export function toPublicEvent(catalogue: EventCatalogue, event: AppEvent) {
  const { id, type, at, actor, organizationId, projectId, subjectId, data } = event
  const kind = catalogue.kindOf(type) ?? null
  return toEntry(catalogue, { id, type, kind, at, actor, organizationId, projectId, subjectId, data })
}

export const eventMessage = (cursor: string, shape: ReturnType<typeof toPublicEvent>, record?: object): string =>
  JSON.stringify({ cursor, ...shape, ...(record && { record }) })
