import { SQL } from 'bun'
import { isTemporary } from '../../src/db/postgres/database-wait.ts'
import { apiKeyFor, EMAIL, json, PASSWORD } from '../support/binary.ts'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import { Database } from './database.ts'
import { Instance, settings } from './instances.ts'
import { Programs } from './programs.ts'
import { type Entrance, startProxy } from './proxy.ts'

export interface Reply {
  status: number
  body: { [name: string]: unknown }
}

/** Three instances behind HAProxy, on three Postgres nodes, with an administrator. */
export class Cluster {
  /** A login session and an API key of the administrator. */
  session = ''
  key = ''

  private constructor(
    readonly programs: Programs,
    readonly database: Database,
    readonly proxy: Entrance,
    readonly instances: readonly [Instance, Instance, Instance],
  ) {}

  /** `canFail`: disks can be full and the network can be cut. */
  static async start(options: { canFail?: boolean } = {}): Promise<Cluster> {
    const programs = await Programs.create()
    const database = await Database.start(programs, options)
    const ports = [freePort(), freePort(), freePort()] as const
    const proxy = await startProxy(programs, { instances: ports, nodes: database.nodes, balance: 'roundrobin' })
    const env = settings(proxy.postgres, proxy.url)
    const [one, two, three] = ports
    const instances = [new Instance(one, env), new Instance(two, env), new Instance(three, env)] as const
    const cluster = new Cluster(programs, database, proxy, instances)
    await cluster.#createDatabase()
    // All at once: one makes the tables, the others wait for it.
    await Promise.all(instances.map((instance) => instance.start()))
    cluster.key = await apiKeyFor(instances[0].server, env)
    const login = await cluster.ask('POST', '/api/auth/login', { email: EMAIL, password: PASSWORD })
    cluster.session = String(login.body.token)
    return cluster
  }

  /** Repeats while the proxy leads to no primary. A reply that was lost may mean that the database exists. */
  async #createDatabase(): Promise<void> {
    const isCreated = async (sql: SQL) =>
      (await sql.unsafe(`select 1 from pg_database where datname = 'tutti'`)).length > 0 ||
      (await sql.unsafe('create database tutti').then(() => true))
    await until(() => this.inDatabase(isCreated).catch((error) => !isTemporary(error) && Promise.reject(error)))
  }

  /** Runs statements on the primary, in the maintenance database. */
  async inDatabase<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    const sql = new SQL(`postgres://postgres@127.0.0.1:${this.proxy.postgres}/postgres`, { max: 1 })
    try {
      return await work(sql)
    } finally {
      await sql.close()
    }
  }

  async ask(method: string, path: string, body?: unknown, as?: string, at = this.proxy.url): Promise<Reply> {
    const request = body === undefined ? { headers: { authorization: `Bearer ${as}` } } : json(method, body, as)
    const response = await fetch(at + path, { ...request, method })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  async stop(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.kill()))
    await this.programs.stop()
  }
}
