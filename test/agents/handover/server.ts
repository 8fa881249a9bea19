import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from '../../support/cleanup.ts'
import { optimisedLater } from '../../support/jit.ts'
import { freePort } from '../../support/port.ts'
import { migratedDatabase } from '../../support/postgres.ts'

const CLI = join(import.meta.dir, '../../../cli/index.ts')

/** A server in a process of its own, on a folder, port and database that it keeps when it is started again. */
export class ServerProcess {
  readonly #port = freePort()
  readonly #folder = mkdtempSync(join(tmpdir(), 'tutti-handover-'))
  #child: Bun.Subprocess<'ignore', 'pipe', 'ignore'> | undefined
  private constructor(private readonly env: Record<string, string>) {}

  static async start(): Promise<ServerProcess> {
    const postgres = process.env.TEST_DB === 'postgres' ? await migratedDatabase() : undefined
    const server = new ServerProcess(postgres ? { DATABASE_URL: postgres.url } : {})
    atEnd(async () => {
      await server.end('SIGKILL')
      await postgres?.drop()
      rmSync(server.#folder, { recursive: true, force: true })
    })
    await server.start()
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Resolves when the server listens. */
  async start(): Promise<void> {
    const child = Bun.spawn(
      [process.execPath, CLI, 'serve', '--port', String(this.#port), '--data-dir', this.#folder],
      {
        env: {
          ...optimisedLater,
          BUN_JSC_useOMGJIT: '0',
          PATH: process.env.PATH ?? '',
          HOME: this.#folder,
          EMBEDDINGS: 'off',
          DB_MIN_FREE_MB: '0',
          DB_STATEMENT_TIMEOUT_MS: '60000',
          RATE_LIMIT_REGISTER: '1000000',
          ...this.env,
        },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'ignore',
      },
    )
    this.#child = child
    const decoder = new TextDecoder()
    let output = ''
    for await (const chunk of child.stdout) {
      output += decoder.decode(chunk, { stream: true })
      if (/ at http:\S+/.test(output)) return
    }
    throw new Error(`The server ended with ${await child.exited}: ${output}`)
  }

  async end(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    this.#child?.kill(signal)
    await this.#child?.exited
  }
}
