import { folder, type Served, serve } from '../support/binary.ts'

/** One instance of Tutti, which can be started again at its address. */
export class Instance {
  readonly dir = folder()
  #running?: Served

  readonly env: Record<string, string>

  constructor(
    readonly port: number,
    env: Record<string, string>,
  ) {
    this.env = { INSTANCE_URL: `http://127.0.0.1:${port}`, INSTANCE_NETWORK: 'private', ...env }
  }

  /** The address of this one; `server.url` is the one that users know, of all of them. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get server(): Served {
    if (!this.#running) throw new Error('this instance does not run')
    return this.#running
  }

  async start(): Promise<this> {
    this.#running = await serve({ dir: this.dir, port: String(this.port), env: this.env })
    return this
  }

  async kill(): Promise<void> {
    await this.#running?.kill()
  }
}

/** Settings that all instances share. */
export const settings = (postgres: number, url: string): Record<string, string> => ({
  DATABASE_URL: `postgres://postgres@127.0.0.1:${postgres}/tutti`,
  TUTTI_SECRET: 'a secret that all of these instances have in common',
  APP_URL: url,
  DB_POOL_SIZE: '6',
  // On a busy machine a statement may take longer than the default, and then a request would fail.
  DB_STATEMENT_TIMEOUT_MS: '10000',
  RATE_LIMIT_MCP: '1000000',
})
