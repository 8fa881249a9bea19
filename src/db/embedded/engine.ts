import { workerUrl } from '../../worker-url.ts'
import { DbError } from '../driver.ts'
import { extensionFiles, pgliteData, pgliteModule } from './assets.ts'
import { counter, type Failure, type FromWorker, newCounters, type OpenRequest, type ToWorker } from './messages.ts'
import { OpenFiles } from './storage/open-files.ts'

interface EngineEvents {
  reply(bytes: Uint8Array): void
  /** The worker has ended; `started` of the trips posted to it had begun. A restart follows. */
  down(why: DbError, started: number): void
  up(): void
  /** A restart failed; the next attempt follows in a second. */
  failing(why: DbError): void
  /** fsync failed. The process cannot continue. */
  lost(reason: string): void
}

const RETRY_MS = 1000
const SHUTDOWN_MS = 30_000

/** Manages the worker: start, replacement after a crash or on demand, orderly end. Does not look into the trips. */
export class Engine {
  #worker: Worker | undefined
  #counters = newCounters()
  #state: 'starting' | 'ready' | 'restarting' | 'closing' | 'closed' | 'lost' = 'starting'
  #settled: ((error?: DbError) => void) | undefined
  #ended = Promise.resolve()
  restarts = 0

  constructor(
    private readonly dir: string,
    private readonly settings: Record<string, string>,
    private readonly events: EngineEvents,
  ) {}

  get ready(): boolean {
    return this.#state === 'ready'
  }

  /** Ready, or restarting. */
  get alive(): boolean {
    return this.#state === 'ready' || this.#state === 'restarting'
  }

  get fsyncs(): number {
    return Atomics.load(this.#counters, counter.fsyncs)
  }

  async start(): Promise<void> {
    try {
      await this.#boot()
    } catch (error) {
      await this.close(false)
      throw error
    }
    this.#state = 'ready'
  }

  post(bytes: Uint8Array<ArrayBuffer>): void {
    this.#worker?.postMessage(bytes, [bytes.buffer])
  }

  /** Ends the worker at once, whatever it is doing, and starts another on the same directory. */
  async restart(why: DbError): Promise<void> {
    if (this.#state !== 'ready') return
    this.#state = 'restarting'
    await this.#terminate()
    this.events.down(why, Atomics.load(this.#counters, counter.started))
    while (this.#state === 'restarting') {
      try {
        await this.#boot()
      } catch (error) {
        await this.#terminate()
        if (this.#state !== 'restarting') return
        this.events.failing(error as DbError)
        await Bun.sleep(RETRY_MS)
        continue
      }
      if (this.#state !== 'restarting') return this.#terminate()
      this.restarts++
      this.#state = 'ready'
      this.events.up()
    }
  }

  /**
   * With `orderly`, writes a checkpoint and ends cleanly. Otherwise Postgres recovers from its WAL at the next start.
   */
  async close(orderly: boolean): Promise<void> {
    const wasReady = this.#state === 'ready'
    if (this.#state !== 'lost') this.#state = 'closing'
    if (orderly && wasReady && this.#worker) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, SHUTDOWN_MS)
      this.#settled = () => resolve()
      this.#worker.postMessage({ type: 'close' } satisfies ToWorker)
      await promise
      clearTimeout(timer)
    }
    await this.#terminate()
    if (this.#state !== 'lost') this.#state = 'closed'
  }

  async #boot(): Promise<void> {
    const [module, data, extensions] = await Promise.all([pgliteModule(), pgliteData(), extensionFiles()])
    if (this.#state !== 'starting' && this.#state !== 'restarting')
      throw new DbError('unavailable', 'the database was stopped')
    this.#counters = newCounters()
    const files = new OpenFiles()
    const worker = new Worker(workerUrl('src/db/embedded/worker.ts'))
    this.#worker = worker
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#settled = (error) => (error ? reject(error) : resolve())
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#receive(data)
    worker.onerror = (event) => this.#broken({ code: 'unavailable', reason: `database worker: ${event.message}` })
    worker.addEventListener('close', () => {
      files.closeAll()
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#broken({ code: 'unavailable', reason: 'the database worker ended' })
    })
    const request: OpenRequest = {
      type: 'open',
      dir: this.dir,
      settings: this.settings,
      module,
      data,
      extensions,
      counters: this.#counters.buffer,
      files: files.buffer,
    }
    worker.postMessage(request, [data])
    await promise
  }

  #receive(message: FromWorker): void {
    if (message instanceof Uint8Array) this.events.reply(message)
    else if (message.type === 'lost') void this.#lose(message.reason)
    else if (message.type === 'failed' || message.type === 'crashed') this.#broken(message)
    else this.#settle()
  }

  #broken({ code, reason }: Failure): void {
    const what = code === 'disk_full' ? 'the disk is full' : 'the database stopped'
    const error = new DbError(code, `${what}: ${reason}`)
    if (this.#state === 'ready') void this.restart(error)
    else this.#settle(error)
  }

  #settle(error?: DbError): void {
    const settled = this.#settled
    this.#settled = undefined
    settled?.(error)
  }

  async #lose(reason: string): Promise<void> {
    if (this.#state === 'lost') return
    this.#state = 'lost'
    this.events.lost(reason)
    this.#settle(new DbError('unavailable', reason))
    await this.#terminate()
  }

  /** Resolves when the thread has really ended: two of them on one directory would destroy it. */
  #terminate(): Promise<void> {
    const worker = this.#worker
    if (worker) {
      this.#worker = undefined
      this.#ended = new Promise((resolve) => {
        worker.addEventListener('close', () => resolve())
        worker.terminate()
      })
      this.#settle(new DbError('unavailable', 'the database was stopped'))
    }
    return this.#ended
  }
}
