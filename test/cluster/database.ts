import { join } from 'node:path'
import { YAML } from 'bun'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import type { Program, Programs } from './programs.ts'

const example = await Bun.file(join(import.meta.dir, '../../deploy/patroni/patroni.yml')).text()

interface PatroniConfig {
  name: string
  restapi: object
  bootstrap: { dcs: { postgresql: { parameters: Record<string, unknown> } } & Record<string, unknown> }
  postgresql: Record<string, unknown>
  watchdog: object
  etcd3: object
}

/** What Patroni says of a node. */
interface Member {
  name: string
  role: string
  state: string
}

/** A machine with Postgres and Patroni. */
export class Node {
  #patroni?: Program

  constructor(
    private readonly programs: Programs,
    readonly name: string,
    readonly port: number,
    readonly api: number,
    private readonly config: string,
  ) {}

  start(): void {
    this.#patroni = this.programs.start(this.name, ['patroni', this.config])
  }

  /** As if the machine had lost its power. */
  async kill(): Promise<void> {
    await this.#patroni?.kill()
    do this.programs.signalIn(`${this.name}-data`, 'SIGKILL')
    while (await later(this.programs.processesIn(`${this.name}-data`).length > 0))
  }

  /** As if the machine hung: it keeps its connections and does nothing. */
  freeze(): void {
    this.#patroni?.signal('SIGSTOP')
    this.programs.signalIn(`${this.name}-data`, 'SIGSTOP')
  }

  thaw(): void {
    this.programs.signalIn(`${this.name}-data`, 'SIGCONT')
    this.#patroni?.signal('SIGCONT')
  }

  output(): string {
    return this.#patroni?.output() ?? ''
  }
}

const later = async <T>(value: T): Promise<T> => {
  await Bun.sleep(20)
  return value
}

/** Three nodes of Postgres that Patroni looks after, with the settings of `deploy/patroni`, and one etcd. */
export class Database {
  private constructor(readonly nodes: readonly Node[]) {}

  static async start(programs: Programs): Promise<Database> {
    const etcd = await startEtcd(programs)
    const nodes = await Promise.all(['pg1', 'pg2', 'pg3'].map((name) => nodeOf(programs, name, etcd)))
    const database = new Database(nodes)
    // The first makes the database, the others copy it.
    for (const node of nodes) node.start()
    await database.settled(3)
    return database
  }

  async members(): Promise<Member[]> {
    for (const { api } of this.nodes) {
      const response = await fetch(`http://127.0.0.1:${api}/cluster`, { signal: AbortSignal.timeout(5000) }).catch(
        () => undefined,
      )
      if (response?.ok) return ((await response.json()) as { members: Member[] }).members
    }
    return []
  }

  /** Waits until there are a primary and a synchronous standby among so many nodes that work. */
  async settled(count: number): Promise<void> {
    await until(async () => {
      const members = await this.members()
      const working = members.filter(({ state }) => state === 'running' || state === 'streaming')
      const has = (role: string) => working.some((member) => member.role === role)
      return (working.length >= count && has('leader') && has('sync_standby')) || later(false)
    })
  }

  async primary(): Promise<Node> {
    return until(async () => {
      const members = await this.members()
      const { name } = members.find(({ role, state }) => role === 'leader' && state === 'running') ?? {}
      return this.nodes.find((node) => node.name === name) ?? later(undefined)
    })
  }

  async standbys(): Promise<Node[]> {
    const primary = await this.primary()
    return this.nodes.filter((node) => node !== primary)
  }

  output(): string {
    return this.nodes.map((node) => `-- ${node.name}\n${node.output().slice(-4000)}`).join('\n')
  }
}

async function startEtcd(programs: Programs): Promise<number> {
  const [client, peer] = [freePort(), freePort()]
  programs.makeFolder('etcd')
  const [at, peers] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`]
  const etcd = programs.start('etcd', [
    'etcd',
    ...['--name', 'etcd', '--data-dir', join(programs.folder, 'etcd'), '--logger', 'zap', '--log-level', 'warn'],
    ...['--listen-client-urls', at, '--advertise-client-urls', at],
    ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers, '--initial-cluster', `etcd=${peers}`],
    '--unsafe-no-fsync',
  ])
  await etcd.until(async () => (await fetch(`${at}/health`).catch(() => undefined))?.ok === true)
  return client
}

/** The settings of the example, with the addresses and folders of this run. */
async function nodeOf(programs: Programs, name: string, etcd: number): Promise<Node> {
  const [port, api] = [freePort(), freePort()]
  const config = YAML.parse(example) as PatroniConfig
  const { dcs } = config.bootstrap
  const here = (at: number) => ({ listen: `127.0.0.1:${at}`, connect_address: `127.0.0.1:${at}` })
  const folder = programs.makeFolder(`${name}-data`)
  const changed = {
    ...config,
    name,
    restapi: here(api),
    etcd3: { hosts: `127.0.0.1:${etcd}` },
    bootstrap: {
      ...config.bootstrap,
      dcs: { ...dcs, loop_wait: 1, retry_timeout: 3, postgresql: { ...dcs.postgresql } },
    },
    postgresql: {
      ...config.postgresql,
      ...here(port),
      data_dir: folder,
      pgpass: join(programs.folder, `${name}.pgpass`),
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      // Only for tests: what is committed survives the process, and nobody turns the machine off.
      parameters: {
        fsync: 'off',
        unix_socket_directories: '',
        dynamic_shared_memory_type: 'mmap',
        shared_buffers: '32MB',
      },
    },
    watchdog: { mode: 'off' },
  }
  return new Node(programs, name, port, api, await programs.write(`${name}.yml`, JSON.stringify(changed)))
}
