/** Messages between the main thread and the worker. A bare Uint8Array is wire protocol, in both directions. */
export type ToWorker = OpenRequest | { type: 'close' } | Uint8Array

export interface OpenRequest {
  type: 'open'
  dir: string
  module: WebAssembly.Module
  data: ArrayBuffer
  extensions: ExtensionFile[]
  settings: Record<string, string>
  counters: SharedArrayBuffer
  /** Memory of `OpenFiles`. */
  files: SharedArrayBuffer
}

export interface ExtensionFile {
  name: string
  tar: Uint8Array<ArrayBuffer>
}

export type FromWorker =
  | { type: 'ready' }
  | { type: 'closed' }
  /** Postgres did not start. */
  | ({ type: 'failed' } & Failure)
  /** Postgres is unusable (PANIC, trap). The worker has stopped itself and waits to be terminated. */
  | ({ type: 'crashed' } & Failure)
  /** fsync failed: what is on disk is unknown, so the process must end. */
  | { type: 'lost'; reason: string }
  /** The response to one trip, up to and including ReadyForQuery. */
  | Uint8Array

/** Why Postgres ended. `code` is that of the `DbError` which callers get. */
export interface Failure {
  code: 'disk_full' | 'unavailable'
  reason: string
}

/** Slots of the shared counters. Written by the worker, read by the main thread without waiting. */
export const counter = { started: 0, fsyncs: 1, slots: 2 } as const

type Counters = Int32Array<SharedArrayBuffer>

export function newCounters(): Counters {
  return new Int32Array(new SharedArrayBuffer(counter.slots * Int32Array.BYTES_PER_ELEMENT))
}
