import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { $, YAML } from 'bun'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import type { Program, Programs } from './programs.ts'
import { Wire } from './wire.ts'

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

/** Where a node is, and what leads there. */
interface Place {
  /** Ports of Postgres and of Patroni, as others see them. */
  port: number
  api: number
  /** The folder with the data, and the settings of Patroni. */
  data: string
  config: string
  /** The network of the machine, where it can be cut. */
  wires: readonly Wire[]
}

/** A machine with Postgres and Patroni. */
export class Node {
  #patroni?: Program

  constructor(
    private readonly programs: Programs,
    readonly name: string,
    private readonly place: Place,
  ) {}

  get port(): number {
    return this.place.port
  }

  get api(): number {
    return this.place.api
  }

  start(): void {
    this.#patroni = this.programs.start(this.name, ['patroni', this.place.config])
  }

  /** As if the machine had lost its power. */
  async kill(): Promise<void> {
    await this.#patroni?.kill()
    do this.programs.signalIn(this.place.data, 'SIGKILL')
    while (await later(this.programs.processesIn(this.place.data).length > 0))
  }

  /** As if the machine hung: it keeps its connections and does nothing. */
  freeze(): void {
    this.#patroni?.signal('SIGSTOP')
    this.programs.signalIn(this.place.data, 'SIGSTOP')
  }

  thaw(): void {
    this.programs.signalIn(this.place.data, 'SIGCONT')
    this.#patroni?.signal('SIGCONT')
  }

  /** Cuts the network of the machine silently: packets are dropped in both directions. */
  isolate(): void {
    for (const wire of this.place.wires) wire.cut()
  }

  rejoin(): void {
    for (const wire of this.place.wires) wire.mend()
  }

  /** Fills the disk to its last byte. */
  async fillDisk(): Promise<void> {
    const filler = this.programs.path(join(this.name, 'filler'))
    await $`cat /dev/zero > ${filler}`.nothrow().quiet()
  }

  freeDisk(): void {
    rmSync(this.programs.path(join(this.name, 'filler')))
  }

  /** Tells Patroni to do something. */
  async control(...words: string[]): Promise<void> {
    const { code, said } = await this.programs.run(['patronictl', '-c', this.place.config, ...words])
    if (code !== 0) throw new Error(`patronictl ${words.join(' ')} ended with ${code}:\n${said}`)
  }

  output(): string {
    return this.#patroni?.output() ?? ''
  }
}

const later = async <T>(value: T): Promise<T> => {
  await Bun.sleep(20)
  return value
}

interface DatabaseOptions {
  /** Each node has a disk of its own, which can be full, and a network that can be cut. */
  canFail?: boolean
}

/** Three nodes of Postgres that Patroni looks after, with the settings of `deploy/patroni`, and one etcd. */
export class Database {
  private constructor(readonly nodes: readonly Node[]) {}

  static async start(programs: Programs, options: DatabaseOptions = {}): Promise<Database> {
    const etcd = await startEtcd(programs)
    const nodes = await Promise.all(['pg1', 'pg2', 'pg3'].map((name) => nodeOf(programs, name, etcd, options)))
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
      // A node that has come back still has the state it had until Patroni has looked at it.
      const leads = members.some(({ role, state }) => role === 'leader' && state === 'running')
      const standbys = members.filter(({ role, state }) => role !== 'leader' && state === 'streaming')
      const isSynchronous = standbys.some(({ role }) => role === 'sync_standby')
      return (leads && isSynchronous && standbys.length >= count - 1) || later(false)
    })
  }

  async primary(): Promise<Node> {
    return until(async () => {
      const members = await this.members()
      const { name } = members.find(({ role, state }) => role === 'leader' && state === 'running') ?? {}
      return this.nodes.find((node) => node.name === name) ?? later(undefined)
    })
  }

  /** The standby that has everything, which alone may take over. */
  async successor(): Promise<Node> {
    return until(async () => {
      const { name } = (await this.members()).find(({ role }) => role === 'sync_standby') ?? {}
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

/** Megabytes of a disk that can be full. */
const DISK = 500

/** The settings of the example, with the addresses and folders of this run. */
async function nodeOf(programs: Programs, name: string, etcd: number, { canFail }: DatabaseOptions): Promise<Node> {
  const own = { port: freePort(), api: freePort() }
  const wires = canFail ? await Promise.all([own.port, own.api, etcd].map((port) => Wire.to(port))) : []
  const [port = own.port, api = own.api, store = etcd] = wires.map((wire) => wire.port)
  if (canFail) await programs.makeDisk(name, DISK)
  else programs.makeFolder(name)
  const data = join(name, 'data')
  const folder = programs.makeFolder(data)
  const config = YAML.parse(example) as PatroniConfig
  const { dcs } = config.bootstrap
  const here = (listen: number, from: number) => ({
    listen: `127.0.0.1:${listen}`,
    connect_address: `127.0.0.1:${from}`,
  })
  const changed = {
    ...config,
    name,
    restapi: here(own.api, api),
    // As a proxy: otherwise Patroni asks etcd where it is, and goes there itself.
    etcd3: { hosts: `127.0.0.1:${store}`, use_proxies: true },
    bootstrap: {
      ...config.bootstrap,
      dcs: { ...dcs, loop_wait: 1, retry_timeout: 3, postgresql: { ...dcs.postgresql } },
    },
    postgresql: {
      ...config.postgresql,
      ...here(own.port, port),
      data_dir: folder,
      pgpass: join(programs.folder, `${name}.pgpass`),
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      // Only for tests: commits survive a killed process, and the machine itself keeps running.
      parameters: {
        fsync: 'off',
        unix_socket_directories: '',
        dynamic_shared_memory_type: 'mmap',
        shared_buffers: '32MB',
      },
    },
    watchdog: { mode: 'off' },
  }
  const file = await programs.write(`${name}.yml`, JSON.stringify(changed))
  return new Node(programs, name, { port, api, data, config: file, wires })
}
