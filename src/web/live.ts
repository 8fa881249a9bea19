/**
 * Keeps what is on screen up to date. Each event names a kind of record; the queries that show this kind are asked
 * again. The table below is the only place that knows which queries show what.
 */
import { useSyncExternalStore } from 'react'
import { hub, ok } from './api.ts'
import { nobody, type PresenceMessage, presenceHeard } from './presence.ts'
import { queries } from './queries.ts'

/** The first words of the keys of queries that show records of a kind. */
const shownBy: Record<string, readonly string[]> = {
  task: ['tasks', 'task', 'plan', 'now', 'home', 'progress', 'epics', 'trash'],
  session: ['sessions', 'session'],
  epic: ['plan', 'epics'],
  story: ['plan', 'epics'],
  plan: ['plan', 'tasks', 'epics', 'progress'],
  comment: ['task'],
  link: ['task', 'feature', 'decision', 'spec'],
  project: ['projects', 'trash'],
  note: ['notes', 'note'],
  memory: ['memories', 'memory'],
  notification: ['notifications'],
  issue: ['issues', 'admin'],
  member: ['members'],
  agent: ['agents', 'agent'],
  mcp_token: ['tokens', 'onboarding'],
  invite: ['invites'],
  mail: ['admin'],
  user: ['admin'],
  feature: ['features', 'feature'],
  decision: ['decisions', 'decision'],
  spec: ['specs', 'spec'],
  skill: ['skills', 'skill'],
  view: ['views'],
}

/** Asks again for what an event of this type has changed. */
function heard(type: string): void {
  for (const key of shownBy[type.split('.')[0] ?? ''] ?? []) void queries.invalidateQueries({ queryKey: [key] })
  // The feed shows everything that happens.
  void queries.invalidateQueries({ queryKey: ['newest'] })
}

// ---- what the foot line says

export type LiveState = 'hub' | 'polling' | 'away'
let state: LiveState = 'away'
const listeners = new Set<() => void>()
function setState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const tell of listeners) tell()
}
const subscribe = (tell: () => void) => {
  listeners.add(tell)
  return () => listeners.delete(tell)
}
export const useLiveState = (): LiveState => useSyncExternalStore(subscribe, () => state)

// ---- the connection

interface Message extends PresenceMessage {
  op?: string
  cursor?: string
  type?: string
}

/** Nothing at all for so long means that the connection is dead: the server says something every 25 s. */
const SILENCE = 60_000
const FIRST_WAIT = 500
const LONGEST_WAIT = 30_000
const POLL = 5000
/** Where so many sockets in a row say nothing, a proxy is in their way, and the page asks instead. */
const HOPELESS = 3

/** Follows the events of a team from where it left off, until the function that it returns is called. */
export function follow(organizationId: string): () => void {
  const follower = new Follower(`organization:${organizationId}`)
  void follower.connect()
  return () => follower.end()
}

class Follower {
  #topic: string
  #cursor: string | undefined
  #socket: WebSocket | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #ended = false

  constructor(topic: string) {
    this.#topic = topic
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#socket?.close()
  }

  /** The ticket is asked for like anything else, which renews an expired sign-in; a failing socket gives no reason. */
  async connect(): Promise<void> {
    try {
      const { ticket } = await ok(hub.ws.ticket.post())
      if (!this.#ended) this.#open(ticket)
    } catch {
      this.#again()
    }
  }

  #open(ticket: string): void {
    const address = new URL('/api/ws', location.href)
    address.protocol = address.protocol.replace('http', 'ws')
    address.searchParams.set('ticket', ticket)
    const socket = new WebSocket(address)
    this.#socket = socket
    this.#listen()
    socket.onmessage = ({ data }) => {
      this.#listen()
      const message = JSON.parse(String(data)) as Message
      if (message.op !== 'hello') return this.#take(message)
      this.#failures = 0
      setState('hub')
      const from = this.#cursor && { cursor: this.#cursor }
      socket.send(JSON.stringify({ op: 'subscribe', topics: [this.#topic, `presence:${this.#topic}`], ...from }))
      socket.send(JSON.stringify({ op: 'here', topic: this.#topic }))
    }
    socket.onclose = () => this.#again()
  }

  /** Begins to wait for the next message anew. */
  #listen(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#socket?.close(), SILENCE)
  }

  #take(message: Message): void {
    if (message.cursor) this.#cursor = message.cursor
    // What was missed cannot be told, so everything on screen is asked for again.
    if (message.op === 'presence') presenceHeard(message)
    if (message.op === 'reset') void queries.invalidateQueries()
    if (!message.op && message.type) heard(message.type)
  }

  #again(): void {
    clearTimeout(this.#timer)
    if (this.#ended) return
    this.#failures++
    setState('away')
    nobody()
    const most = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#failures)
    const next = () => void (this.#failures > HOPELESS ? this.#poll() : this.connect())
    // Full jitter: the pages of a server that restarts must not all come back at the same moment.
    this.#timer = setTimeout(next, Math.random() * most)
  }

  async #poll(): Promise<void> {
    try {
      const query = { topics: this.#topic, ...(this.#cursor && { cursor: this.#cursor }) }
      const found = await ok(hub.events.get({ query, headers: { accept: 'application/json' } }))
      if (found.reset) void queries.invalidateQueries()
      for (const event of found.events) heard(event.type)
      this.#cursor = found.cursor
      setState('polling')
      if (!this.#ended) this.#timer = setTimeout(() => void this.#poll(), POLL)
    } catch {
      this.#again()
    }
  }
}
