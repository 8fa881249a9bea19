/** The edits that wait for the connection, and how pages mark them. Part of the first file, like the frame. */
import { createStore } from '../lib/store.ts'
import { words } from '../words.ts'

export interface WaitingEdit {
  /** Its Idempotency-Key. */
  key: string
  /** What is changed: "LAN-42: priority High". */
  title: string
  /** The record that is shown as not sent, and its fields. */
  recordId: string
  fields: readonly string[]
  /** Why the server refused it. Until then, it waits. */
  refusal?: string | undefined
  /** It cannot be sent again. */
  isFinal?: boolean
}

export const waitingEdits = createStore<readonly WaitingEdit[]>([])

/** Returns how many edits wait. Refused ones do not. */
export const countWaiting = (edits: readonly WaitingEdit[]): number =>
  edits.filter(({ refusal }) => refusal === undefined).length

/** How an edit was tried: the server may already have made the one that was sent. */
export interface Attempt {
  key: string
  wasSent: boolean
  /** The version that it was sent with. The server knows the request by it, so it is sent again with the same one. */
  sentVersion?: number | undefined
}

/** Marks a record, or one of its fields, whose change waits for the connection. */
export function NotSent({ id, field }: { id: string; field?: string }) {
  const waits = waitingEdits
    .use()
    .some(
      ({ recordId, fields, refusal }) =>
        recordId === id && refusal === undefined && (field === undefined || fields.includes(field)),
    )
  return waits && <span className="unsent soft t12">{words.notSent}</span>
}
