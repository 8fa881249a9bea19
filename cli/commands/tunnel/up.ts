import { hostname } from 'node:os'
import type { TunnelClaimed, TunnelRegistered } from '../../../src/features/tunnels/schema.ts'
import type { ActionEnd } from '../../../src/tunnel/actions/action-runner.ts'
import { type ServiceAddress, TunnelAgent } from '../../../src/tunnel/agent.ts'
import type { MachineConfig } from '../../../src/tunnel/machine-config.ts'
import { version } from '../../../src/version.ts'
import { stopSignal } from '../../api/events.ts'
import { withHints } from '../../api/hints.ts'
import { parseServer, type ServerChoice, signedInClient } from '../../api/profiles.ts'
import { machinePath, readMachine, writeMachine } from '../../api/tunnel-config.ts'
import { type LogEntry, serveControl, TunnelConsole } from '../../api/tunnel-control.ts'
import { environmentForCommands } from '../../terminal/environment.ts'
import { dim, jsonText, printNote, printResult, safeLine, withoutControls } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { type McpServers, parseMcpServer, parseService, type Services } from './entries.ts'

interface Options extends ServerChoice {
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
export function addTunnelEntry(entry: string, { who, mcp, tools, json }: Addition): void {
  const machine = readMachine()
  if (!machine) throw new Refusal('This machine has no tunnel yet. Connect it first: tutti tunnel up --http web=3000')
  if (tools && !mcp) throw new Refusal('--tools is for MCP servers: add --mcp.')
  const added = mcp ? parseMcpServer(entry, who, tools) : parseService(entry, who)
  writeMachine(
    mcp
      ? { ...machine, mcp: { ...machine.mcp, ...(added as McpServers) } }
      : { ...machine, services: { ...machine.services, ...(added as Services) } },
  )
  const [name] = Object.keys(added)
  printResult(json, added, `Added ${name} to ${machinePath()}. It takes effect at the next: tutti tunnel up`)
}

export async function runTunnel({ json, http, mcp, who, name, access, claim, ...where }: Options): Promise<void> {
  const known = readMachine()
  const services: Services = Object.assign({}, known?.services, ...(http ?? []).map((text) => parseService(text, who)))
  const servers: McpServers = Object.assign({}, known?.mcp, ...(mcp ?? []).map((text) => parseMcpServer(text, who)))
  const machine = { ...(await prepareMachine(known, { name, access, claim }, where)), services, mcp: servers }
  writeMachine(machine)
  if (Object.keys({ ...services, ...servers }).length === 0)
    printNote('This machine offers no services yet. Add one: --http web=3000')
  const stop = stopSignal()
  const desk = new TunnelConsole(json)
  let addresses = ''
  let isStopping = false
  const agent = new TunnelAgent({
    machine,
    env: environmentForCommands(),
    keepsRequests: true,
    confirm: (question, signal) => desk.requestConfirmation(question, signal),
    onAction: (ended) => printLine(json ? ended : actionLine(ended)),
    onState: (state, detail) => {
      desk.isOnline = state === 'online'
      if (json) printLine({ state, tunnel: machine.slug })
      else if (desk.isOnline) printNote(`${machine.slug} is online at ${detail}. Press Ctrl-C to stop.`)
      else if (!isStopping) printNote('The connection was lost. Connecting again.')
    },
    onAddresses: (services) => {
      const now = jsonText({ services })
      if (now === addresses) return
      addresses = now
      if (json) printLine(now)
      else for (const service of services) printNote(`  ${addressLine(service)}`)
    },
    onServed: (served, kept) => {
      const entry = desk.record(served, kept)
      printLine(json ? served : requestLine(entry))
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
  `${name}  ${url ? safeLine(url) : 'cannot be opened: TUNNEL_PORT is not set on the server'}`

let unwritten: string[] = []

/** Prints a line. Lines of one event-loop turn are written together: a busy service has thousands a second. */
function printLine(what: string | object): void {
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

export const requestLine = ({ n, at, service, method, target, user, status, ms }: LogEntry): string =>
  withoutControls(
    `${dim(`${n}  ${timeOfDay(new Date(at))}`)}  ${service}  ${method} ${safeLine(target)}  ${status}  ${Math.round(ms)} ms  ${dim(safeLine(user ?? 'anyone'))}`,
    1,
  )

const actionLine = ({ type, params, user, state, ms }: ActionEnd): string => {
  const what = [type, params.command, params.tool].filter((part) => typeof part === 'string').join(' ')
  const time = dim(timeOfDay(new Date()))
  return withoutControls(`${time}  ${safeLine(what)}  ${state}  ${Math.round(ms)} ms  ${dim(safeLine(user))}`, 1)
}

interface Wanted {
  name?: string
  access?: string
  claim?: string
}

/** Returns the settings of this machine. Registers and claims a tunnel if it has none, or claims one with a nonce. */
async function prepareMachine(
  known: MachineConfig | undefined,
  { name, access, claim }: Wanted,
  where: ServerChoice,
): Promise<MachineConfig> {
  if (known && claim === undefined) {
    if (name ?? access)
      printNote(
        `This machine already has the tunnel ${known.slug}; --name and --access apply to a new one. Use: tutti tunnel update ${known.slug}`,
      )
    return known
  }
  const about = { hostname: hostname(), os: process.platform, architecture: process.arch, clientVersion: version }
  if (claim !== undefined) {
    if (!where.server) throw new Refusal('--claim also needs --server, the address of the server.')
    const server = parseServer(where.server)
    const nonce = claim === '-' ? await readNonce() : claim
    const claimed = await claimTunnel(server, { nonce, ...about })
    const { services = {}, commands, mcp, workspaces } = known ?? {}
    return { ...claimed, server, services, commands, mcp, workspaces }
  }
  const { client } = signedInClient(where)
  const { nonce } = await withHints(client, () =>
    client.post<TunnelRegistered>('/api/tunnels/register', { name: name ?? hostname(), ...(access && { access }) }),
  )
  return { ...(await claimTunnel(client.server, { nonce, ...about })), server: client.server, services: {} }
}

/** Reads the nonce from standard input: everyone on the computer can see the arguments of a program. */
async function readNonce(): Promise<string> {
  const text = process.stdin.isTTY ? prompt('Nonce:') : await Bun.stdin.text()
  const nonce = text?.trim()
  if (!nonce) throw new Refusal('No nonce was given on standard input.')
  return nonce
}

/** Without the user's credential: the nonce alone proves the right to claim. */
async function claimTunnel(server: string, body: object): Promise<TunnelClaimed> {
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
