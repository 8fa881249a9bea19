import type { Question } from '../../src/tunnel/actions/action.ts'
import { stopSignal } from '../api/events.ts'
import { askTunnel, type Entry } from '../api/tunnel-control.ts'
import { jsonText, note, plain, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { lineOf } from './tunnel-up.ts'

/** Commands about the tunnel that runs on this machine; they need no server. */
interface Options {
  json?: boolean
}

export async function down({ json }: Options): Promise<void> {
  const stopped = await (await askTunnel('/stop', { method: 'POST' })).json()
  print(json, stopped, 'Stopped the tunnel of this machine.')
}

export async function logs({ json, follow }: Options & { follow?: boolean }): Promise<void> {
  const response = await askTunnel(follow ? '/logs?follow' : '/logs', follow ? { signal: stopSignal() } : undefined)
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines.filter(Boolean)) {
        const entry = JSON.parse(line) as Entry
        console.log(json ? jsonText(entry) : lineOf(entry))
      }
    }
  } catch (error) {
    // The only other error is that the tunnel has ended.
    if ((error as Error).name !== 'AbortError') note('The tunnel of this machine has stopped.')
  }
}

/** Sends a request of the log to its service once more. */
export async function replay(n: string, { json }: Options): Promise<void> {
  if (!/^[1-9]\d*$/.test(n)) throw new Refusal('Give the number of a request from: tutti tunnel logs')
  const response = await askTunnel(`/replay/${n}`, { method: 'POST' })
  const result = (await response.json()) as { status: number; body: string } | null
  if (!result)
    throw new Refusal(`Request ${n} cannot be sent again: it is too old, too large, or not an HTTP request.`, 4)
  print(json, result, String(result.status), ...(result.body ? [result.body] : []))
}

export async function confirm(
  id: string | undefined,
  { json, decline }: Options & { decline?: boolean },
): Promise<void> {
  const { pending } = (await (await askTunnel('/')).json()) as { pending: Question[] }
  if (id === undefined) {
    const lines = pending.map(({ id: each, user, what }) => `${each}  ${plain(user.email)}  ${plain(what)}`)
    return print(json, pending, ...(lines.length > 0 ? lines : ['No actions are waiting for confirmation.']))
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
  print(json, { id: only.id, agreed: !decline }, decline ? 'Declined.' : 'Allowed.')
}
