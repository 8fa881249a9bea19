import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfirmationRequest } from '../../src/tunnel/actions/action.ts'
import type { ServedRequest } from '../../src/tunnel/agent.ts'
import type { RecordedRequest } from '../../src/tunnel/local-service.ts'
import { configFolder, isTerminal } from '../terminal/environment.ts'
import { printNote, safeLine } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

/** The socket of the tunnel that runs on this machine. Its folder is readable by its user alone. */
const controlPath = (): string => join(configFolder(), 'tunnel.sock')

/** A request in the log of the machine. */
export interface LogEntry extends ServedRequest {
  n: number
  at: string
}

/** What other commands on this machine can ask of the running tunnel. */
interface TunnelControl {
  slug: string
  log: RequestLog
  isOnline(): boolean
  pending(): ConfirmationRequest[]
  /** Returns whether the question was waiting. */
  confirm(id: string, isAgreed: boolean): boolean
  replay(n: number): Promise<{ status: number; body: string } | undefined>
  stop(): void
}

const MAX_ENTRIES = 200

/** The request log and the pending confirmations of the running tunnel. */
export class TunnelConsole {
  readonly #log = new RequestLog()
  readonly #kept = new Map<number, RecordedRequest>()
  readonly #pending = new Map<string, { question: ConfirmationRequest; answer(isAgreed: boolean): void }>()
  #isReading = false
  /** The machine is connected to its server. */
  isOnline = false

  constructor(private readonly json: boolean | undefined) {}

  record(served: ServedRequest, kept: RecordedRequest | undefined): LogEntry {
    const entry = this.#log.add(served)
    if (kept) this.#kept.set(entry.n, kept)
    this.#kept.delete(entry.n - MAX_ENTRIES)
    return entry
  }

  /** Resolves with the decision; with false if the signal fires first. */
  requestConfirmation(question: ConfirmationRequest, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const answer = (isAgreed: boolean) => {
      this.#pending.delete(question.id)
      resolve(isAgreed)
    }
    this.#pending.set(question.id, { question, answer })
    signal.addEventListener('abort', () => answer(false), { once: true })
    const { id, user, what } = question
    if (this.json) console.log(JSON.stringify({ confirm: id, user: user.email, what }))
    else printNote(`${safeLine(user.email)} wants to run: ${safeLine(what)}. Allow it with: tutti tunnel confirm ${id}`)
    this.#read()
    return promise
  }

  control(slug: string, stop: () => void): TunnelControl {
    return {
      slug,
      stop,
      log: this.#log,
      isOnline: () => this.isOnline,
      pending: () => [...this.#pending.values()].map(({ question }) => question),
      confirm: (id, isAgreed) => {
        const found = this.#pending.get(id)
        found?.answer(isAgreed)
        return found !== undefined
      },
      replay: async (n) => {
        const kept = this.#kept.get(n)
        return kept && !kept.isTruncated ? kept.replay().catch(() => ({ status: 502, body: '' })) : undefined
      },
    }
  }

  /** At a terminal, `y` or `n` decides the oldest question. */
  #read(): void {
    if (this.#isReading || this.json || !isTerminal(2) || !process.stdin.isTTY) return
    this.#isReading = true
    printNote('Press y and Enter to allow it, n and Enter to decline.')
    process.stdin.setEncoding('utf8').on('data', (text: string) => {
      const [first] = this.#pending.values()
      if (/^y(es)?\s*$/i.test(text)) first?.answer(true)
      else if (/^n(o)?\s*$/i.test(text)) first?.answer(false)
    })
    process.stdin.unref()
  }
}

/** The last requests, in memory only. */
class RequestLog {
  readonly #entries: LogEntry[] = []
  readonly #listeners = new Set<(entry: LogEntry) => void>()
  #count = 0

  add(served: ServedRequest): LogEntry {
    const entry = { n: ++this.#count, at: new Date().toISOString(), ...served }
    this.#entries.push(entry)
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift()
    for (const listener of this.#listeners) listener(entry)
    return entry
  }

  /** The entries as lines of JSON; with `follow`, also new ones as they come, with empty lines in between. */
  stream(follow: boolean): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    let end: (() => void) | undefined
    return new ReadableStream({
      start: (controller) => {
        const send = (entry: LogEntry) => controller.enqueue(encoder.encode(`${JSON.stringify(entry)}\n`))
        for (const entry of this.#entries) send(entry)
        if (!follow) return controller.close()
        this.#listeners.add(send)
        // Bun ends a connection after ten seconds without a byte.
        const timer = setInterval(() => controller.enqueue(encoder.encode('\n')), 4000)
        end = () => {
          clearInterval(timer)
          this.#listeners.delete(send)
        }
      },
      cancel: () => end?.(),
    })
  }
}

/** Serves other commands on this machine. Returns a function that stops it. */
export async function serveControl(control: TunnelControl): Promise<() => Promise<void>> {
  const path = controlPath()
  if (existsSync(path)) {
    if (await findRunningTunnel())
      throw new Refusal('A tunnel is already running on this machine. Stop it first: tutti tunnel down', 5)
    rmSync(path)
  }
  const server = Bun.serve({ unix: path, development: false, fetch: (request) => handleControl(control, request) })
  chmodSync(path, 0o600)
  return async () => {
    await server.stop(true)
    rmSync(path, { force: true })
  }
}

async function handleControl(control: TunnelControl, request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  const [, what, which = ''] = pathname.split('/')
  if (request.method === 'GET' && what === '')
    return Response.json({
      slug: control.slug,
      pid: process.pid,
      online: control.isOnline(),
      pending: control.pending(),
    })
  if (request.method === 'GET' && what === 'logs') return new Response(control.log.stream(searchParams.has('follow')))
  if (request.method !== 'POST') return new Response(null, { status: 404 })
  if (what === 'replay') return Response.json((await control.replay(Number(which))) ?? null)
  if (what === 'confirm') {
    const { agreed } = (await request.json()) as { agreed?: unknown }
    return Response.json({ found: control.confirm(which, agreed === true) })
  }
  if (what !== 'stop') return new Response(null, { status: 404 })
  // After the response has left.
  setTimeout(() => control.stop(), 10)
  return Response.json({ stopped: true })
}

/** Returns the tunnel that runs on this machine. */
export async function findRunningTunnel(): Promise<{ slug: string; pid: number; online: boolean } | undefined> {
  return requestTunnel('/').then(
    (response) => response.json() as Promise<{ slug: string; pid: number; online: boolean }>,
    () => undefined,
  )
}

/** Asks the tunnel that runs on this machine. */
async function requestTunnel(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`http://tunnel${path}`, { ...init, unix: controlPath() })
}

/** Asks the tunnel that runs on this machine; refuses if there is none. */
export async function askTunnel(path: string, init?: RequestInit): Promise<Response> {
  const response = existsSync(controlPath()) ? await requestTunnel(path, init).catch(() => undefined) : undefined
  if (!response) throw new Refusal('No tunnel is running on this machine. Start it: tutti tunnel up', 4)
  return response
}
