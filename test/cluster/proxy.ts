import { join } from 'node:path'
import { freePort } from '../support/port.ts'
import type { Node } from './database.ts'
import type { Program, Programs } from './programs.ts'

const deploy = join(import.meta.dir, '../../deploy')
const example = await Bun.file(join(deploy, 'haproxy/haproxy.cfg')).text()

interface ProxyOptions {
  /** Ports of the instances. */
  instances: readonly number[]
  /** Default: it does not lead to a database. */
  nodes?: readonly Pick<Node, 'port' | 'api'>[]
  /** Default: as in the example. */
  balance?: string
}

export interface Entrance {
  /** Where users come in. */
  readonly url: string
  /** Where the primary of the database is. */
  readonly postgres: number
  /** Returns the state of each server by `backend/server`: `UP`, `DOWN`, `no check`. */
  states(): Promise<Map<string, string>>
  /** Waits until so many instances get requests. */
  ready(instances: number): Promise<void>
  readonly program: Program
}

/** Starts HAProxy with the example of `deploy`, with the addresses of this run. */
export async function startProxy(
  programs: Programs,
  { instances, nodes = [], balance }: ProxyOptions,
  name = 'haproxy',
): Promise<Entrance> {
  const [web, postgres, stats] = [freePort(), freePort(), freePort()]
  let config = example
    .replace('maxconn 20000', 'maxconn 1000') // so many files may be open wherever this runs
    .replace('bind :80\n', `bind 127.0.0.1:${web}\n`)
    .replace('bind 127.0.0.1:5000\n', `bind 127.0.0.1:${postgres}\n`)
  instances.forEach((port, n) => {
    config = config.replace(`10.0.0.1${n + 1}:4242`, `127.0.0.1:${port}`)
  })
  nodes.forEach(({ port, api }, n) => {
    config = config.replace(`10.0.0.2${n + 1}:5432`, `127.0.0.1:${port} port ${api}`)
  })
  if (nodes.length === 0) config = config.slice(0, config.indexOf('listen postgres'))
  if (balance) config = config.replace(/balance hdr\(Authorization\)\n +hash-type consistent/, `balance ${balance}`)
  const more = `\nfrontend stats\n    bind 127.0.0.1:${stats}\n    stats enable\n    stats uri /\n`
  const file = await programs.write(`${name}.cfg`, config + more)
  const program = programs.start(name, ['haproxy', '-db', '-f', file], { asRoot: true })
  const states = async (): Promise<Map<string, string>> => {
    const response = await fetch(`http://127.0.0.1:${stats}/;csv`).catch(() => undefined)
    const rows = ((await response?.text()) ?? '').split('\n').map((line) => line.split(','))
    const column = rows[0]?.indexOf('status') ?? -1
    return new Map(rows.slice(1).map((row) => [`${row[0]}/${row[1]}`, row[column] ?? '']))
  }
  const areUp = (servers: RegExp, count: number) =>
    program.until(
      async () =>
        [...(await states())].filter(([server, state]) => servers.test(server) && state === 'UP').length === count,
    )
  const ready = (count: number) => areUp(/^tutti\/tutti\d$/, count)
  // Until its first check a server counts as up: now only the primary does.
  await (nodes.length > 0 ? areUp(/^postgres\/pg\d$/, 1) : ready(instances.length))
  return {
    url: `http://127.0.0.1:${web}`,
    postgres,
    states,
    program,
    ready,
  }
}
