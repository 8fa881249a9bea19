import { hostname } from 'node:os'
import type { TunnelClaimed, TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import type { Ended } from '../../src/tunnel/actions/actions.ts'
import { Agent, type ServiceAddress } from '../../src/tunnel/agent.ts'
import type { Machine } from '../../src/tunnel/machine.ts'
import { version } from '../../src/version.ts'
import { stopSignal } from '../api/events.ts'
import { helped } from '../api/hints.ts'
import { machinePath, readMachine, writeMachine } from '../api/machine.ts'
import { serverOf, signedInClient, type Where } from '../api/profiles.ts'
import { Desk, type Entry, serveControl } from '../api/tunnel-control.ts'
import { environmentForCommands } from '../terminal/environment.ts'
import { dim, guarded, jsonText, note, plain, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { type McpServers, mcpServerOf, type Services, serviceOf } from './tunnel-entries.ts'

interface Options extends Where {
  json?: boolean
  http?: string[]
  mcp?: string[]
  who?: string[]
  name?: string
  access?: string
  claim?: string
}

interface Addition {
  who?: string[]
  mcp?: boolean
  tools?: string[]
  json?: boolean
}

/** Adds a service or an MCP server to tunnel.json of this machine. */
export function add(entry: string, { who, mcp, tools, json }: Addition): void {
  const machine = readMachine()
  if (!machine) throw new Refusal('This machine has no tunnel yet. Connect it first: tutti tunnel up --http web=3000')
  if (tools && !mcp) throw new Refusal('--tools is for MCP servers: add --mcp.')
  const added = mcp ? mcpServerOf(entry, who, tools) : serviceOf(entry, who)
  writeMachine(
    mcp
      ? { ...machine, mcp: { ...machine.mcp, ...(added as McpServers) } }
      : { ...machine, services: { ...machine.services, ...(added as Services) } },
  )
  const [name] = Object.keys(added)
  print(json, added, `Added ${name} to ${machinePath()}. It takes effect at the next: tutti tunnel up`)
}

export async function up({ json, http, mcp, who, name, access, claim, ...where }: Options): Promise<void> {
  const known = readMachine()
  const services: Services = Object.assign({}, known?.services, ...(http ?? []).map((text) => serviceOf(text, who)))
  const servers: McpServers = Object.assign({}, known?.mcp, ...(mcp ?? []).map((text) => mcpServerOf(text, who)))
  const machine = { ...(await machineOf(known, { name, access, claim }, where)), services, mcp: servers }
  writeMachine(machine)
  if (Object.keys({ ...services, ...servers }).length === 0)
    note('This machine offers no services yet. Add one: --http web=3000')
  const stop = stopSignal()
  const desk = new Desk(json)
  let addresses = ''
  let isStopping = false
  const agent = new Agent({
    machine,
    env: environmentForCommands(),
    keepsRequests: true,
    confirm: (question, signal) => desk.ask(question, signal),
    onAction: (ended) => emit(json ? ended : actionLine(ended)),
    onState: (state, detail) => {
      desk.isOnline = state === 'online'
      if (json) emit({ state, tunnel: machine.slug })
      else if (desk.isOnline) note(`${machine.slug} is online at ${detail}. Press Ctrl-C to stop.`)
      else if (!isStopping) note('The connection was lost. Connecting again.')
    },
    onAddresses: (services) => {
      const now = jsonText({ services })
      if (now === addresses) return
      addresses = now
      if (json) emit(now)
      else for (const service of services) note(`  ${addressLine(service)}`)
    },
    onServed: (served, kept) => {
      const entry = desk.served(served, kept)
      emit(json ? served : lineOf(entry))
    },
  })
  const stopAgent = () => {
    isStopping = true
    agent.stop()
  }
  stop.addEventListener('abort', stopAgent, { once: true })
  const close = await serveControl(desk.control(machine.slug, stopAgent))
  const end = await agent.run().finally(close)
  if (end === 'refused')
    throw new Refusal(
      `The server refused the credential of this machine: the tunnel was deleted, or another machine claimed it. To start over, remove ${machinePath()}`,
    )
}

const addressLine = ({ name, url }: ServiceAddress): string =>
  `${name}  ${url ? plain(url) : 'cannot be opened: TUNNEL_PORT is not set on the server'}`

let unwritten: string[] = []

/** Prints a line. Lines of one event-loop turn are written together: a busy service has thousands a second. */
function emit(what: string | object): void {
  if (unwritten.push(typeof what === 'string' ? what : jsonText(what)) > 1) return
  setImmediate(() => {
    const lines = unwritten
    unwritten = []
    console.log(lines.join('\n'))
  })
}

/** The local time of day. `toLocaleTimeString` would take longer than a request through the tunnel. */
const timeOfDay = (date: Date): string =>
  [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')

export const lineOf = ({ n, at, service, method, target, user, status, ms }: Entry): string =>
  guarded(
    `${dim(`${n}  ${timeOfDay(new Date(at))}`)}  ${service}  ${method} ${plain(target)}  ${status}  ${Math.round(ms)} ms  ${dim(plain(user ?? 'anyone'))}`,
    1,
  )

const actionLine = ({ type, params, user, state, ms }: Ended): string => {
  const what = [type, params.command, params.tool].filter((part) => typeof part === 'string').join(' ')
  const time = dim(timeOfDay(new Date()))
  return guarded(`${time}  ${plain(what)}  ${state}  ${Math.round(ms)} ms  ${dim(plain(user))}`, 1)
}

interface Wanted {
  name?: string
  access?: string
  claim?: string
}

/** Returns the settings of this machine. Registers and claims a tunnel if it has none, or claims one with a nonce. */
async function machineOf(known: Machine | undefined, { name, access, claim }: Wanted, where: Where): Promise<Machine> {
  if (known && claim === undefined) {
    if (name ?? access)
      note(
        `This machine already has the tunnel ${known.slug}; --name and --access apply to a new one. Use: tutti tunnel update ${known.slug}`,
      )
    return known
  }
  const about = { hostname: hostname(), os: process.platform, architecture: process.arch, clientVersion: version }
  if (claim !== undefined) {
    if (!where.server) throw new Refusal('--claim also needs --server, the address of the server.')
    const server = serverOf(where.server)
    const nonce = claim === '-' ? await readNonce() : claim
    const claimed = await claimWith(server, { nonce, ...about })
    const { services = {}, commands, mcp, workspaces } = known ?? {}
    return { ...claimed, server, services, commands, mcp, workspaces }
  }
  const { client } = signedInClient(where)
  const { nonce } = await helped(client, () =>
    client.post<TunnelRegistered>('/api/tunnels/register', { name: name ?? hostname(), ...(access && { access }) }),
  )
  return { ...(await claimWith(client.server, { nonce, ...about })), server: client.server, services: {} }
}

/** Reads the nonce from standard input: everyone on the computer can see the arguments of a program. */
async function readNonce(): Promise<string> {
  const text = process.stdin.isTTY ? prompt('Nonce:') : await Bun.stdin.text()
  const nonce = text?.trim()
  if (!nonce) throw new Refusal('No nonce was given on standard input.')
  return nonce
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
