import type { SQL } from 'bun'
import { newId } from '../columns.ts'
import { DbError } from '../driver.ts'
import { withTimeout } from './sessions.ts'
import type { Log } from './statement-runner.ts'
import { toDbError } from './values.ts'

type Receive = (payload: string) => void

export interface NotificationListenerOptions {
  /** Opens a connection that is used for nothing else. */
  connect(onClosed: (error: Error | null) => void): Promise<SQL>
  /** Sends a notification by another connection. */
  notify(channel: string, payload: string): Promise<void>
  log?: Log
}

/** On this channel the listener checks that notifications arrive. */
const PROOF = 'tutti_listening'
/** Milliseconds that a notification may take. */
const ARRIVES_MS = 3000
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [500, 5000]

/**
 * Listens for notifications on a separate connection. A pooler accepts LISTEN but passes on no notification, so the
 * listener counts as live only after its own test notification has arrived. It reconnects after a lost connection.
 * Notifications in between are lost, so callers poll while it is not live.
 */
export class NotificationListener {
  readonly #channels = new Map<string, Set<Receive>>()
  #sql: SQL | undefined
  #isLive = false
  #isClosed = false
  #started: Promise<void> | undefined
  #lose: ((reason: string) => void) | undefined
  #expecting: Timer | undefined
  #wake: (() => void) | undefined
  #reason: string | undefined
  #heard = 0

  constructor(private readonly options: NotificationListenerOptions) {}

  get isLive(): boolean {
    return this.#isLive
  }

  /** Why notifications do not arrive. */
  get reason(): string | undefined {
    return this.#isLive ? undefined : this.#reason
  }

  /** Whether anyone listens. */
  get isUsed(): boolean {
    return this.#started !== undefined
  }

  /** Resolves when the first attempt has ended, well or not. */
  async listen(channel: string, receive: Receive): Promise<void> {
    const known = this.#channels.get(channel)
    this.#channels.set(channel, (known ?? new Set()).add(receive))
    if (this.#started === undefined) {
      const first = Promise.withResolvers<void>()
      this.#started = first.promise
      void this.#run(first.resolve)
    } else if (!known && this.#sql) await this.#subscribe(this.#sql, channel).catch(() => undefined)
    await this.#started
  }

  /** The number of notifications that arrived. */
  get heard(): number {
    return this.#heard
  }

  /**
   * A notification was sent when so many had arrived. If nothing arrives for a while, the connection is dead without
   * saying so.
   */
  expect(channel: string, heardBefore: number): void {
    if (!this.#isLive || this.#heard !== heardBefore || !this.#channels.has(channel)) return
    this.#expecting ??= setTimeout(() => this.#lose?.('a notification did not arrive'), ARRIVES_MS)
    this.#expecting.unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake?.()
    this.#lose?.('closed')
    await this.#sql?.close({ timeout: 0 })
  }

  async #run(onTried: () => void): Promise<void> {
    const { log } = this.options
    let wait = FIRST_WAIT_MS
    let isWarned = false
    while (!this.#isClosed) {
      const lost = Promise.withResolvers<string>()
      this.#lose = lost.resolve
      let reason: string
      try {
        await this.#connect()
        this.#isLive = true
        wait = FIRST_WAIT_MS
        if (isWarned) log?.('info', 'notifications of the database arrive again')
        isWarned = false
        onTried()
        reason = await lost.promise
      } catch (error) {
        reason = toDbError(error).message
      }
      this.#isLive = false
      this.#reason = reason
      this.#received()
      const before = this.#sql
      this.#sql = undefined
      await before?.close({ timeout: 0 }).catch(() => undefined)
      if (this.#isClosed) break
      if (!isWarned) log?.('warn', 'notifications of the database do not arrive; polling every second', { reason })
      isWarned = true
      onTried()
      await this.#sleep(wait)
      wait = Math.min(LONGEST_WAIT_MS, 2 * wait)
    }
    onTried()
  }

  async #connect(): Promise<void> {
    const lose = this.#lose
    const sql = await this.options.connect((error) => lose?.(error?.message ?? 'the connection was closed'))
    this.#sql = sql
    for (const channel of this.#channels.keys()) await withTimeout(5000, this.#subscribe(sql, channel))
    await this.#prove(sql)
  }

  async #subscribe(sql: SQL, channel: string): Promise<void> {
    await sql.listen(channel, (payload) => {
      this.#received()
      for (const receive of this.#channels.get(channel) ?? []) receive(payload)
    })
  }

  async #prove(sql: SQL): Promise<void> {
    const id = newId()
    const { promise, resolve } = Promise.withResolvers<void>()
    const proof = await withTimeout(
      5000,
      sql.listen(PROOF, (payload) => {
        if (payload === id) resolve()
      }),
    )
    await withTimeout(5000, this.options.notify(PROOF, id))
    await withTimeout(ARRIVES_MS, promise).catch(() => {
      throw new DbError(
        'unavailable',
        'LISTEN is accepted but nothing arrives, as through a pooler in transaction mode; set LISTEN_URL',
      )
    })
    await proof.unlisten()
  }

  #received(): void {
    this.#heard++
    clearTimeout(this.#expecting)
    this.#expecting = undefined
  }

  #sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#wake = () => {
      clearTimeout(timer)
      resolve()
    }
    return promise
  }
}
