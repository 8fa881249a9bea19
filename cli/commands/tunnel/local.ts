import type { ConfirmationRequest } from '../../../src/tunnel/actions/action.ts'
import { stopSignal } from '../../api/events.ts'
import { askTunnel, type LogEntry } from '../../api/tunnel-control.ts'
import { jsonText, printNote, printResult, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { requestLine } from './up.ts'

/** Commands about the tunnel that runs on this machine; they need no server. */
interface Options {
  json?: boolean
}

export async function stopTunnel({ json }: Options): Promise<void> {
  const stopped = await (await askTunnel('/stop', { method: 'POST' })).json()
  printResult(json, stopped, 'Stopped the tunnel of this machine.')
}

export async function printLogs({ json, follow }: Options & { follow?: boolean }): Promise<void> {
  const response = await askTunnel(follow ? '/logs?follow' : '/logs', follow ? { signal: stopSignal() } : undefined)
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines.filter(Boolean)) {
        const entry = JSON.parse(line) as LogEntry
        console.log(json ? jsonText(entry) : requestLine(entry))
      }
    }
  } catch (error) {
    // The only other error is that the tunnel has ended.
    if ((error as Error).name !== 'AbortError') printNote('The tunnel of this machine has stopped.')
  }
}

/** Sends a request of the log to its service once more. */
export async function replayRequest(n: string, { json }: Options): Promise<void> {
  if (!/^[1-9]\d*$/.test(n)) throw new Refusal('Give the number of a request from: tutti tunnel logs')
  const response = await askTunnel(`/replay/${n}`, { method: 'POST' })
  const result = (await response.json()) as { status: number; body: string } | null
  if (!result)
    throw new Refusal(`Request ${n} cannot be sent again: it is too old, too large, or not an HTTP request.`, 4)
  printResult(json, result, String(result.status), ...(result.body ? [result.body] : []))
}

export async function confirmAction(
  id: string | undefined,
  { json, decline }: Options & { decline?: boolean },
): Promise<void> {
  const { pending } = (await (await askTunnel('/')).json()) as { pending: ConfirmationRequest[] }
  if (id === undefined) {
    const lines = pending.map(({ id: each, user, what }) => `${each}  ${safeLine(user.email)}  ${safeLine(what)}`)
    return printResult(json, pending, ...(lines.length > 0 ? lines : ['No actions are waiting for confirmation.']))
  }
  const found = pending.filter((question) => question.id.startsWith(id))
  const [only] = found
  if (!only || found.length > 1)
    throw new Refusal(
      `${found.length === 0 ? 'No' : 'More than one'} waiting action has an id that begins with ${id}.`,
      4,
    )
  const body = JSON.stringify({ agreed: !decline })
  await askTunnel(`/confirm/${only.id}`, { method: 'POST', body })
  printResult(json, { id: only.id, agreed: !decline }, decline ? 'Declined.' : 'Allowed.')
}
