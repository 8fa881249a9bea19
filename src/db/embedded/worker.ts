/** Runs Postgres. A separate entry point: in the binary its path is src/db/embedded/worker.js. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Extension, PGlite } from '@electric-sql/pglite'
import {
  counter,
  type ExtensionFile,
  type Failure,
  type FromWorker,
  newCounters,
  type OpenRequest,
  type ToWorker,
} from './messages.ts'
import { DurableFs } from './storage/durable.ts'
import { OpenFiles } from './storage/open-files.ts'

declare const self: Worker

const SYNC = 0x53
const QUERY = 0x51
/**
 * Status with which PGlite reports an ordinary SQL error, which its loop then handles. Anything else thrown means that
 * Postgres is broken.
 */
const ORDINARY_ERROR = 100

let pg: PGlite | undefined
let counters = newCounters()
const lastWords: string[] = []

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data instanceof Uint8Array) runTrips(data)
  else if (data.type === 'open') open(data).then(() => postToMain({ type: 'ready' }), fail)
  else close().then(() => postToMain({ type: 'closed' }), fail)
}

function postToMain(message: FromWorker): void {
  if (message instanceof Uint8Array) self.postMessage(message, [message.buffer as ArrayBuffer])
  else self.postMessage(message)
}

function fail(error: unknown): void {
  postToMain({ type: 'failed', ...failureOf(error) })
}

/** Reports why and never returns: code that ran on in a broken Postgres could commit half a transaction. */
function die(message: FromWorker): never {
  postToMain(message)
  const forever = new Int32Array(new SharedArrayBuffer(4))
  for (;;) Atomics.wait(forever, 0, 0)
}

/** What Postgres prints where the disk is full: the words of errno, as it has no code for what ends it. */
const noSpace = /no space left on device|disk full/i

function failureOf(error?: unknown): Failure {
  const isFull = (error as { code?: unknown } | undefined)?.code === 'ENOSPC' || lastWords.some((w) => noSpace.test(w))
  const reason = lastWords.join('; ') || (error instanceof Error ? error.message : String(error))
  return { code: isFull ? 'disk_full' : 'unavailable', reason }
}

async function open(request: OpenRequest): Promise<void> {
  counters = new Int32Array(request.counters)
  // If a kill left this file empty, Postgres would not start. Our own lock is another file.
  rmSync(join(request.dir, 'postmaster.pid'), { force: true })
  const events = {
    synced: () => Atomics.add(counters, counter.fsyncs, 1),
    failed: (reason: string) => die({ type: 'lost', reason }),
  }
  const fs = new DurableFs(request.dir, events, new OpenFiles(request.files))
  pg = new PGlite({
    dataDir: request.dir,
    fs,
    pgliteWasmModule: request.module,
    fsBundle: new Blob([request.data]),
    extensions: Object.fromEntries(request.extensions.map((file) => [file.name, extension(file)])),
    startParams: startParams(request.settings),
    onStderr: (line) => {
      if (/\b(FATAL|PANIC):/.test(line)) lastWords.push(line.replace(/^.*?(?=FATAL|PANIC)/, ''))
      // PGlite does not recover from a PANIC.
      if (/\bPANIC:/.test(line)) die({ type: 'crashed', ...failureOf() })
      return false
    },
  })
  await pg.waitReady
  stopOnTrap(pg)
}

function startParams(settings: Record<string, string>): string[] {
  return [
    // -F switches fsync off
    ...PGlite.defaultStartParams.filter((param) => param !== '-F'),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

function extension({ name, tar }: ExtensionFile): Extension {
  return {
    name,
    setup: async (
      _pg,
      options: { preRun?: ((module: { pg_extensions: Record<string, Promise<Blob>> }) => void)[] },
    ) => ({
      emscriptenOpts: {
        ...options,
        preRun: [
          ...(options.preRun ?? []),
          (module: { pg_extensions: Record<string, Promise<Blob>> }) => {
            module.pg_extensions[name] = Promise.resolve(new Blob([tar]))
          },
        ],
      },
    }),
  }
}

/** PGlite swallows traps (stack overflow, out of memory, abort) and continues with the next message. */
function stopOnTrap({ Module: module }: PGlite): void {
  const step = module._PostgresMainLoopOnce
  module._PostgresMainLoopOnce = () => {
    try {
      step()
    } catch (error) {
      if ((error as { status?: number }).status !== ORDINARY_ERROR) die({ type: 'crashed', ...failureOf(error) })
      throw error
    }
  }
}

/** Sends one reply per trip, at once: a slow trip must not delay the replies before it. */
function runTrips(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    const end = endOfTrip(bytes, at)
    Atomics.add(counters, counter.started, 1)
    postToMain(run(bytes.subarray(at, end)))
    at = end
  }
}

function endOfTrip(bytes: Uint8Array, start: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = start; ; ) {
    const type = bytes[at]
    at += 1 + view.getInt32(at + 1)
    if (type === SYNC || type === QUERY) return at
  }
}

function run(trip: Uint8Array): Uint8Array {
  const chunks: Uint8Array[] = []
  // Runs to the end before it returns. Unlike execProtocolRawSync it does not also parse and keep every reply. The
  // chunk is a view of WASM memory and must be copied.
  pg?.execProtocolRawStream(trip, { syncToFs: false, onRawData: (chunk) => chunks.push(chunk.slice()) }).catch(
    (error) => die({ type: 'crashed', ...failureOf(error) }),
  )
  const [first] = chunks
  return chunks.length === 1 && first ? first : concat(chunks)
}

function concat(chunks: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

async function close(): Promise<void> {
  await pg?.close()
}
