/** Keeps the screen up to date: each event names a kind of record, and the queries that show it are loaded again. */
import { hub, ok } from '../api.ts'
import { queryClient } from '../query-client.ts'
import { applyPresence, clearPresence, type PresenceMessage } from './presence.ts'
import { reconnectDelay } from './reconnect-delay.ts'
import { handleEvent } from './stale-queries.ts'
import { type LiveState, lastCursor, setLastCursor, setLiveState, setReconnect } from './state.ts'

// ---- topics that a page watches

/** A message to those who watch a topic now. It is not stored. */
interface TopicMessage {
  op: string
  topic: string
  [part: string]: unknown
}
type TopicListener = (notice: TopicMessage) => void

const topicListeners = new Map<string, Set<TopicListener>>()
let follower: LiveConnection | undefined

/** Watches a topic until the returned function is called. Messages need a WebSocket, so pages also poll. */
export function watchTopic(topic: string, take: TopicListener): () => void {
  const takers = topicListeners.get(topic) ?? new Set()
  topicListeners.set(topic, takers.add(take))
  if (takers.size === 1) follower?.send({ op: 'subscribe', topics: [topic] })
  return () => {
    takers.delete(take)
    if (takers.size > 0 || topicListeners.get(topic) !== takers) return
    topicListeners.delete(topic)
    follower?.send({ op: 'unsubscribe', topics: [topic] })
  }
}

// ---- the connection

interface Message extends PresenceMessage {
  topic?: string
  op?: string
  cursor?: string
  type?: string
  kind?: string | null
  subjectId?: string | null
  data?: Record<string, unknown>
}

/** A connection that is silent for so long is dead: the server sends something every 25 s. */
const SILENCE = 60_000
const POLL = 5000
/** After this many connections without a message, a proxy blocks this transport, and the page tries the next one. */
const HOPELESS = 3

/** Ways to receive events, best first. */
const ways = ['hub', 'stream', 'polling'] as const

/** Receives the events of a team until the returned function is called. */
export function followTeamEvents(organizationId: string): () => void {
  const mine = new LiveConnection(`organization:${organizationId}`)
  follower = mine
  void mine.connect()
  return () => mine.end()
}

class LiveConnection {
  #topic: string
  #close: (() => void) | undefined
  #socket: WebSocket | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  /** When the connection was lost; undefined while there is one. */
  #lostAt: number | undefined
  /** The timer is the one for the next attempt. */
  #isWaiting = false
  /** How many connections in a row brought no message, although the server was reachable. */
  #silent = 0
  #way = 0
  /** Counts the calls of connect. Only the newest call opens a connection or reports a failure. */
  #attempt = 0
  #ended = false

  constructor(topic: string) {
    this.#topic = topic
    for (const event of ['online', 'focus']) addEventListener(event, this.#hurry)
    addEventListener('offline', this.#check)
    setReconnect(this.#hurry, this.#check)
  }

  /** Sends an operation if a WebSocket is open. A new WebSocket subscribes to all watched topics. */
  send(operation: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(operation))
  }

  end(): void {
    this.#ended = true
    for (const event of ['online', 'focus']) removeEventListener(event, this.#hurry)
    removeEventListener('offline', this.#check)
    clearTimeout(this.#timer)
    this.#close?.()
  }

  /** Reconnects at once when the network is back or the page gets the focus. */
  #hurry = (): void => {
    if (!this.#isWaiting) return
    clearTimeout(this.#timer)
    void this.connect()
  }

  /**
   * The network is gone, but a server on the same computer stays reachable. A new connection shows it;
   * the old one would only be silent.
   */
  #check = (): void => {
    if (this.#isWaiting) return
    clearTimeout(this.#timer)
    this.#socket = undefined
    this.#close?.()
    void this.connect()
  }

  /** Requesting the ticket renews an expired session; a WebSocket that fails would give no reason. */
  async connect(): Promise<void> {
    this.#isWaiting = false
    const attempt = ++this.#attempt
    const isOld = () => this.#ended || attempt !== this.#attempt
    try {
      const way = ways[this.#way]
      if (way === 'polling') return await this.#poll(isOld)
      const { ticket } = await ok(hub.ws.ticket.post())
      if (isOld()) return
      if (way === 'hub') this.#openSocket(ticket)
      else this.#openStream()
    } catch {
      if (!isOld()) this.#again()
    }
  }

  #openSocket(ticket: string): void {
    const address = new URL('/api/ws', location.href)
    address.protocol = address.protocol.replace('http', 'ws')
    address.searchParams.set('ticket', ticket)
    const socket = new WebSocket(address)
    this.#socket = socket
    this.#close = () => socket.close()
    this.#listen()
    socket.onmessage = ({ data }) => {
      this.#listen()
      const message = JSON.parse(String(data)) as Message
      if (message.op !== 'hello') return this.#take(message)
      this.#works('hub')
      const cursor = lastCursor()
      const topics = [this.#topic, `presence:${this.#topic}`, ...topicListeners.keys()]
      socket.send(JSON.stringify({ op: 'subscribe', topics, ...(cursor && { cursor }) }))
      socket.send(JSON.stringify({ op: 'here', topic: this.#topic }))
    }
    // A dead socket may close long after another one has replaced it.
    socket.onclose = () => void (this.#socket === socket && this.#lost())
  }

  /** The browser would reconnect by itself, but an expired session needs a new EventSource. */
  #openStream(): void {
    const address = new URL('/api/events', location.href)
    address.searchParams.set('topics', `${this.#topic},presence:${this.#topic}`)
    const cursor = lastCursor()
    if (cursor) address.searchParams.set('cursor', cursor)
    const source = new EventSource(address)
    this.#close = () => source.close()
    this.#listen()
    const take = ({ data }: MessageEvent<string>) => {
      this.#listen()
      this.#works('stream')
      this.#take(JSON.parse(data) as Message)
    }
    for (const name of ['message', 'ready', 'tick', 'reset', 'presence']) source.addEventListener(name, take)
    source.onerror = () => {
      source.close()
      this.#lost()
    }
  }

  #works(way: LiveState): void {
    this.#failures = 0
    this.#lostAt = undefined
    this.#silent = 0
    setLiveState(way)
  }

  /** Waits for the next message again, from the start. */
  #listen(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#socket = undefined
      this.#close?.()
      this.#lost()
    }, SILENCE)
  }

  #take(message: Message): void {
    if (message.cursor) setLastCursor(message.cursor)
    if (message.op === 'presence') applyPresence(message)
    for (const take of (message.op && topicListeners.get(message.topic ?? '')) || []) take(message as TopicMessage)
    // The missed events are gone, so everything on screen is loaded again.
    if (message.op === 'reset') void queryClient.invalidateQueries()
    if (!message.op && message.type) handleEvent({ ...message, type: message.type })
  }

  /** The server was reachable, but the connection failed or ended. */
  #lost(): void {
    if (++this.#silent >= HOPELESS && this.#way < ways.length - 1) {
      this.#way++
      this.#silent = 0
    }
    this.#again()
  }

  #again(): void {
    clearTimeout(this.#timer)
    if (this.#ended) return
    this.#lostAt ??= Date.now()
    setLiveState('away')
    clearPresence()
    const isVisible = document.visibilityState === 'visible'
    const delay = reconnectDelay({ failures: this.#failures++, ms: Date.now() - this.#lostAt, isVisible })
    this.#isWaiting = true
    this.#timer = setTimeout(() => void this.connect(), delay)
  }

  async #poll(isOld: () => boolean): Promise<void> {
    const cursor = lastCursor()
    const query = { topics: this.#topic, ...(cursor && { cursor }) }
    const found = await ok(hub.events.get({ query, headers: { accept: 'application/json' } }))
    if (isOld()) return
    if (found.reset) void queryClient.invalidateQueries()
    for (const event of found.events) handleEvent(event)
    setLastCursor(found.cursor)
    this.#works('polling')
    this.#timer = setTimeout(() => void this.connect(), POLL)
  }
}
