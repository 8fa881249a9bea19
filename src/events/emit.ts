import type { TProperties } from '@sinclair/typebox'
import type { DataOf, EventType } from './catalogue.ts'

/** The subject of an event, and who may receive it. */
export interface EventSubject {
  subjectId?: string
  organizationId?: string | null
  projectId?: string | null
  userId?: string | null
}

type EventDetails<P extends TProperties = TProperties> = EventSubject &
  (Record<never, never> extends DataOf<P> ? { data?: DataOf<P> } : { data: DataOf<P> })

/** The context of a write, which can emit events. */
export interface Emitter {
  /**
   * Writes an event (audit, activity and live event in one) in this transaction; it is delivered after commit. Events
   * of anonymous callers need a `userId` or an `organizationId` (`isRecorded` in action.ts).
   */
  emit<P extends TProperties>(event: EventType<P>, about: EventDetails<P>): void
}
