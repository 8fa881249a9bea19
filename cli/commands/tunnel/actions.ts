import type { OfferedActions, TunnelAction } from '../../../src/features/tunnels/actions/action-schema.ts'
import type { Tunnel } from '../../../src/features/tunnels/schema.ts'
import type { Client } from '../../api/client.ts'
import { followEvents, sleepUnless, stopSignal } from '../../api/events.ts'
import { withHints } from '../../api/hints.ts'
import { type ServerChoice, signedInClient } from '../../api/profiles.ts'
import { pathTo } from '../../api/reference.ts'
import { jsonText, printNote, printResult, safeLine, withoutControls } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { describeOffline } from './tunnels.ts'

interface Options extends ServerChoice {
  json?: boolean
}

const ASK_AGAIN_MS = 1000
/** Messages after which the action is read again: changes before them may not have been sent. */
const readAfter = new Set(['subscribed', 'reset', 'tick', 'revoked', 'action'])
const endStates = new Set(['succeeded', 'failed', 'refused', 'cancelled', 'timed_out'])

/** Runs a command of a machine and prints its output as it comes. */
export async function runTunnelCommand(
  ref: string,
  command: string | undefined,
  given: string[],
  options: Options,
): Promise<void> {
  const { json, ...where } = options
  const { client } = signedInClient(where)
  const { items } = await withHints(client, () => client.get<OfferedActions>(pathTo('/api/tunnels/:id/actions', ref)))
  const commands = items.filter(({ type }) => type === 'run_command')
  if (command === undefined) {
    const lines = commands.map(
      ({ name, description, confirm }) =>
        `${safeLine(name ?? '')}  ${safeLine(description)}${confirm ? ' (needs confirmation at the machine)' : ''}`,
    )
    printResult(json, commands, ...(lines.length > 0 ? lines : ['This machine has no commands that you can run.']))
    const problem = await offlineProblem(client, ref)
    if (problem) printNote(problem)
    return
  }
  const found = commands.find(({ name }) => name === command)
  const names = commands.map(({ name }) => name).join(', ')
  if (!found) {
    const offered = names ? `Its commands: ${names}.` : ''
    const none = `${ref} has no command ${safeLine(command)} that you can run.`
    const sentences = [none, offered, await offlineProblem(client, ref)]
    throw new Refusal(sentences.filter(Boolean).join(' '), 4)
  }
  const schema = (found.schema.properties as { params?: Properties } | undefined)?.params
  const params = paramsOf(given, schema?.properties ?? {})
  const action = await performAction(client, ref, { type: 'run_command', params: { command, params } }, json)
  finishAction(action, json)
}

/** Lists the tools of an MCP server on a machine. */
export async function listTunnelTools(place: string, { json, ...where }: Options): Promise<void> {
  const [ref, server] = splitPlace(place, 'server')
  const { client } = signedInClient(where)
  finishAction(await performAction(client, ref, { type: 'list_tools', params: { server } }, true), json)
}

/** Calls a tool of an MCP server on a machine. */
export async function callTunnelTool(
  place: string,
  tool: string,
  given: string[],
  { json, ...where }: Options,
): Promise<void> {
  const [ref, server] = splitPlace(place, 'server')
  const { client } = signedInClient(where)
  const params = { server, tool, arguments: argumentsOf(given) }
  finishAction(await performAction(client, ref, { type: 'call_tool', params }, true), json)
}

/** Returns a sentence if the machine of a tunnel is offline. The server itself reports a paused tunnel. */
async function offlineProblem(client: Client, ref: string): Promise<string | undefined> {
  const tunnel = await withHints(client, () => client.get<Tunnel>(pathTo('/api/tunnels/:id', ref)))
  return tunnel.paused ? undefined : describeOffline(tunnel)
}

export function splitPlace(place: string, what: string): [ref: string, name: string] {
  const [ref, name, more] = place.split('/')
  if (!ref || !name || more !== undefined)
    throw new Refusal(
      `Write the tunnel and the ${what}, with a slash between: build-1/${what === 'server' ? 'fs' : 'web'}`,
    )
  return [ref, name]
}

interface Properties {
  properties?: Record<string, { type?: string }>
}

const pairOf = (text: string): [string, string] => {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new Refusal(`${safeLine(text)} is not a parameter. Write name=value.`)
  return [name, value]
}

/** Converts values to numbers and booleans where the schema of the command requires it. */
function paramsOf(given: readonly string[], known: Record<string, { type?: string }>): Record<string, unknown> {
  return Object.fromEntries(
    given.map((text) => {
      const [name, value] = pairOf(text)
      const { type } = known[name] ?? {}
      if (type === 'integer') return [name, Number(value)]
      if (type === 'boolean') return [name, value === 'true' || (value === 'false' ? false : value)]
      return [name, value]
    }),
  )
}

/** Arguments of tools are JSON where they are valid JSON, otherwise text. */
function argumentsOf(given: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    given.map((text) => {
      const [name, value] = pairOf(text)
      try {
        return [name, JSON.parse(value) as unknown]
      } catch {
        return [name, value]
      }
    }),
  )
}

/** Asks for an action and waits for its end. Ctrl-C cancels it. `quiet`: the output is not printed as it comes. */
async function performAction(
  client: Client,
  ref: string,
  body: object,
  quiet: boolean | undefined,
): Promise<TunnelAction> {
  const problem = await offlineProblem(client, ref)
  if (problem) printNote(`${problem} Waiting up to a minute for the machine.`)
  const asked = await withHints(client, () => client.post<TunnelAction>(pathTo('/api/tunnels/:id/actions', ref), body))
  const stop = stopSignal()
  const done = new AbortController()
  const path = `/api/tunnels/${asked.tunnelId}/actions`
  stop.addEventListener('abort', () => {
    void client.post(path, { type: 'cancel', params: { actionId: asked.id } }).catch(() => done.abort())
  })
  try {
    return await new RunningAction(client, asked, quiet).end(done.signal)
  } finally {
    done.abort()
  }
}

/** An action that was asked for. */
class RunningAction {
  #printed = 0

  constructor(
    private readonly client: Client,
    private action: TunnelAction,
    private readonly quiet: boolean | undefined,
  ) {}

  /** Resolves with the action when it has ended. */
  async end(signal: AbortSignal): Promise<TunnelAction> {
    // Polls if the server refuses another stream.
    await this.#follow(signal).catch(() => undefined)
    while (!this.#isEnded && !signal.aborted) {
      await this.#read()
      if (!this.#isEnded) await sleepUnless(ASK_AGAIN_MS, signal)
    }
    if (!this.#isEnded) throw new Refusal('Stopped.', 1)
    if (!this.quiet) this.#printRest()
    return this.action
  }

  get #isEnded(): boolean {
    return endStates.has(this.action.state)
  }

  /**
   * Prints lines as they come, until the action has ended. The server does not repeat messages, so the action is read
   * after each subscription and after a silence.
   */
  async #follow(signal: AbortSignal): Promise<void> {
    if (this.#isEnded) return
    for await (const message of followEvents(this.client, [`record:${this.action.id}`], signal)) {
      if (message.op === 'output') this.#print(message)
      else if (message.op === 'action' && !endStates.has(message.state)) this.#note(message.state)
      else if (message.op !== undefined && readAfter.has(message.op)) await this.#read()
      if (this.#isEnded || (message.op === 'subscribed' && message.refused.length > 0)) return
    }
  }

  async #read(): Promise<void> {
    const { tunnelId, id } = this.action
    const now = await this.client.get<TunnelAction>(`/api/tunnels/${tunnelId}/actions/${id}`)
    this.#note(now.state)
    this.action = now
  }

  #note(state: string): void {
    if (state === 'awaiting_confirmation' && state !== this.action.state)
      printNote('Waiting for confirmation at the machine.')
    this.action = { ...this.action, state: state as TunnelAction['state'] }
  }

  /** After a gap, the rest is printed at the end. */
  #print({ n, line }: { n: number; line: string }): void {
    if (this.quiet || n !== this.#printed + 1) return
    this.#printed = n
    console.log(withoutControls(line, 1))
  }

  /** Prints the lines that did not come live. */
  #printRest(): void {
    const { output, outputCut } = this.action
    const lines = output ? output.split('\n') : []
    if (outputCut) printNote('The beginning of the output is missing.')
    for (const line of outputCut ? lines : lines.slice(this.#printed)) console.log(withoutControls(line, 1))
  }
}

const exitCodesByState: Partial<Record<TunnelAction['state'], number>> = { refused: 3, timed_out: 6 }

/** Prints how an action ended. The exit code of a command becomes that of this program. */
function finishAction(action: TunnelAction, json: boolean | undefined): void {
  const { state, error, result, type } = action
  if (json) printResult(true, action)
  if (state !== 'succeeded') {
    const { exitCode } = (result ?? {}) as { exitCode?: unknown }
    const code = typeof exitCode === 'number' && exitCode > 0 ? exitCode : (exitCodesByState[state] ?? 1)
    throw new Refusal(safeLine(error ?? `The action ended with the state ${state}.`), code)
  }
  if (!json && type !== 'run_command') console.log(jsonText(result, 2))
}
