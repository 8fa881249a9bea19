/** Events of one record, for a page that waits for them. The others are handled by the queries that they make stale. */
export interface RecordEvent {
  type: string
  subjectId?: string | null
  data?: Record<string, unknown>
}

type Listener = (event: RecordEvent) => void
const listeners = new Map<string, Set<Listener>>()

/** Calls the listener for every event of the record until the returned function is called. */
export function onRecordEvent(id: string, listener: Listener): () => void {
  const all = listeners.get(id) ?? new Set()
  listeners.set(id, all.add(listener))
  return () => {
    all.delete(listener)
    if (all.size === 0) listeners.delete(id)
  }
}

export function dispatchRecordEvent(event: RecordEvent): void {
  for (const listener of listeners.get(event.subjectId ?? '') ?? []) listener(event)
}
