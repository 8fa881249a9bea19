import { hostname } from 'node:os'
import type { TunnelClaimed, TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import { Agent, type Served } from '../../src/tunnel/agent.ts'
import type { Machine } from '../../src/tunnel/machine.ts'
import { version } from '../../src/version.ts'
import { stopSignal } from '../api/events.ts'
import { helped } from '../api/hints.ts'
import { machinePath, readMachine, type Services, writeMachine } from '../api/machine.ts'
import { serverOf, signedInClient, type Where } from '../api/profiles.ts'
import { dim, guarded, jsonText, note, plain, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

interface Options extends Where {
  json?: boolean
  http?: string[]
  who?: string[]
  name?: string
  access?: string
  claim?: string
}

/** `web=3000`, `api=http://127.0.0.1:8080` or `db=unix:/run/db.sock`. */
function serviceOf(text: string, who: string[] | undefined): Services {
  const [, name, target] = /^([a-z0-9]+(?:-[a-z0-9]+)*)=(.+)$/.exec(text) ?? []
  if (!name || !target)
    throw new Refusal(`${plain(text).slice(0, 60)} is not a service. Write a name and a port: web=3000`)
  const url = /^\d{1,5}$/.test(target) ? `http://127.0.0.1:${target}` : target.replace(/\/$/, '')
  return { [name]: { url, ...(who && { who }) } }
}

/** Adds a service to tunnel.json of this machine. */
export function add(service: string, { who, json }: { who?: string[]; json?: boolean }): void {
  const machine = readMachine()
  if (!machine) throw new Refusal('This machine has no tunnel yet. Connect it first: tutti tunnel up --http web=3000')
  const added = serviceOf(service, who)
  writeMachine({ ...machine, services: { ...machine.services, ...added } })
  const [name] = Object.keys(added)
  print(json, added, `Added ${name} to ${machinePath()}. It is offered with the next: tutti tunnel up`)
}

export async function up({ json, http, who, name, access, claim, ...where }: Options): Promise<void> {
  const known = readMachine()
  const services: Services = Object.assign({}, known?.services, ...(http ?? []).map((text) => serviceOf(text, who)))
  const machine = { ...(await machineOf(known, { name, access, claim }, where)), services }
  writeMachine(machine)
  if (Object.keys(services).length === 0) note('No services are offered yet. Add one: --http web=3000')
  const stop = stopSignal()
  const agent = new Agent({
    machine,
    onState: (state, detail) =>
      json
        ? emit({ state, tunnel: machine.slug })
        : note(
            state === 'online'
              ? `${machine.slug} is online at ${detail}. Press Ctrl-C to stop.`
              : 'The connection was lost. Connecting again.',
          ),
    onServed: (served) => emit(json ? served : lineOf(served)),
  })
  stop.addEventListener('abort', () => agent.stop(), { once: true })
  if ((await agent.run()) === 'refused')
    throw new Refusal(
      `The server refused the credential of this machine: the tunnel was deleted, or another machine claimed it. To start anew, remove ${machinePath()}`,
    )
}

const emit = (what: string | object): void => console.log(typeof what === 'string' ? what : jsonText(what))

const lineOf = ({ service, method, target, user, status, ms }: Served): string =>
  guarded(
    `${dim(new Date().toLocaleTimeString('sv-SE'))}  ${service}  ${method} ${plain(target)}  ${status}  ${Math.round(ms)} ms  ${dim(plain(user ?? 'anyone'))}`,
    1,
  )

interface Wanted {
  name?: string
  access?: string
  claim?: string
}

/** Returns what this machine is; registers and claims a tunnel if it has none, or claims another with a nonce. */
async function machineOf(known: Machine | undefined, { name, access, claim }: Wanted, where: Where): Promise<Machine> {
  if (known && claim === undefined) return known
  const about = { hostname: hostname(), os: process.platform, architecture: process.arch, clientVersion: version }
  if (claim !== undefined) {
    if (!where.server) throw new Refusal('--claim also needs --server, the address of the server.')
    const server = serverOf(where.server)
    const claimed = await claimWith(server, { nonce: claim, ...about })
    return { ...claimed, server, services: known?.services ?? {} }
  }
  const { client } = signedInClient(where)
  const { nonce } = await helped(client, () =>
    client.post<TunnelRegistered>('/api/tunnels/register', { name: name ?? hostname(), ...(access && { access }) }),
  )
  return { ...(await claimWith(client.server, { nonce, ...about })), server: client.server, services: {} }
}

/** Without the user's credential: the nonce alone proves the right to claim. */
async function claimWith(server: string, body: object): Promise<TunnelClaimed> {
  const response = await fetch(new URL('/api/tunnels/claim', server), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
  }).catch(() => undefined)
  if (!response) throw new Refusal(`The server at ${server} cannot be reached.`)
  if (response.ok) return (await response.json()) as TunnelClaimed
  throw new Refusal('The nonce is not valid: unknown, used or older than five minutes.')
}
