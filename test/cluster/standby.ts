import { join } from 'node:path'
import { SQL } from 'bun'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import type { Program, Programs } from './programs.ts'

const BIN = '/usr/lib/postgresql/17/bin'

/** A Postgres of its own. It can be killed and started again. */
export class Server {
  #program: Program | undefined

  constructor(
    private readonly programs: Programs,
    private readonly name: string,
    readonly port: number,
    private readonly settings: readonly string[],
  ) {}

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async start(): Promise<this> {
    const settings = [
      ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'dynamic_shared_memory_type=mmap'],
      ...['fsync=off', 'full_page_writes=off', 'shared_buffers=32MB', ...this.settings],
    ]
    const data = join(this.programs.folder, `${this.name}-data`)
    const program = this.programs.start(this.name, [
      `${BIN}/postgres`,
      ...['-D', data, '-p', String(this.port)],
      ...settings.flatMap((setting) => ['-c', setting]),
    ])
    this.#program = program
    await program.until(async () => {
      const sql = new SQL(this.url, { max: 1, connectionTimeout: 5 })
      return sql
        .unsafe('select 1')
        .then(() => true)
        .catch(() => false)
        .finally(() => sql.close({ timeout: 0 }))
    })
    return this
  }

  /** Whether the server was asked this. */
  wasAsked(text: string): boolean {
    return this.#program?.output().includes(text) ?? false
  }

  async run(statement: string): Promise<unknown[][]> {
    const sql = new SQL(this.url, { max: 1 })
    try {
      return (await sql.unsafe(statement).values()) as unknown[][]
    } finally {
      await sql.close({ timeout: 0 })
    }
  }

  /** As if its machine had lost its power. */
  async kill(): Promise<void> {
    await this.#program?.kill()
    await until(() => {
      this.programs.signalIn(`${this.name}-data`, 'SIGKILL')
      return this.programs.processesIn(`${this.name}-data`).length === 0
    })
  }
}

async function run(programs: Programs, ...command: string[]): Promise<void> {
  const { code, said } = await programs.run(command)
  if (code !== 0) throw new Error(`${command[0]} ended with ${code}:\n${said}`)
}
const dataOf = (programs: Programs, name: string) => join(programs.folder, `${name}-data`)

/** A streaming standby of a server, which logs every statement. */
export async function startStandby(programs: Programs, of: Server, name: string): Promise<Server> {
  const copied = ['-h', '127.0.0.1', '-p', String(of.port), '-U', 'postgres', '-c', 'fast', '--no-sync']
  await run(programs, `${BIN}/pg_basebackup`, '-D', dataOf(programs, name), '-R', ...copied)
  return new Server(programs, name, freePort(), ['log_statement=all']).start()
}

/** A primary and its standby. */
export async function startPair(programs: Programs): Promise<{ primary: Server; standby: Server }> {
  const own = ['-U', 'postgres', '-E', 'UTF8', '--auth=trust', '--no-sync']
  await run(programs, `${BIN}/initdb`, '-D', dataOf(programs, 'primary'), ...own)
  const primary = await new Server(programs, 'primary', freePort(), []).start()
  return { primary, standby: await startStandby(programs, primary, 'standby') }
}
