/**
 * Answers that are being written. They are kept outside of React, so that opening another page does not stop the model.
 * Closing the tab or the Stop button does.
 */
import type { Message, Proposal, Source } from '../../../features/assistant/schema.ts'
import { openEvents } from '../../api.ts'
import { queries } from '../../queries.ts'
import { store } from '../../store.ts'
import { changed, messagesQuery } from './queries.ts'
import { words } from './words.ts'

export interface Writing {
  question: string
  sources: readonly Source[]
  text: string
  proposals: readonly Proposal[]
  /** Why there is no answer. */
  error?: Error
  stop(): void
}

const all = store<ReadonlyMap<string, Writing>>(new Map())

export const useWriting = (id: string): Writing | undefined => all.use().get(id)

function put(id: string, writing: Writing | undefined): void {
  const next = new Map(all.get())
  if (writing) next.set(id, writing)
  else next.delete(id)
  all.set(next)
}

function add(id: string, part: (before: Writing) => Partial<Writing>): void {
  const before = all.get().get(id)
  if (before) put(id, { ...before, ...part(before) })
}

/** Asks a question in a chat, and follows its answer until it is stored. */
export async function askIn(id: string, question: string): Promise<void> {
  const stop = new AbortController()
  put(id, { question, sources: [], text: '', proposals: [], stop: () => stop.abort() })
  try {
    const stream = await openEvents(`/api/ai/sessions/${id}/messages`, { content: question }, stop.signal)
    const message = await follow(id, stream)
    if (!message) throw new Error(words.lost)
    queries.setQueryData(
      messagesQuery(id).queryKey,
      (before) => before && { ...before, items: [...before.items, message] },
    )
  } catch (error) {
    if (!stop.signal.aborted) return add(id, () => ({ error: error as Error }))
    await stopped(id)
  }
  await changed(queries, id)
  put(id, undefined)
}

/** Waits until the server has stored the part of the answer before the stop. */
async function stopped(id: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { items } = await queries.fetchQuery({ ...messagesQuery(id), staleTime: 0 })
    if (items.at(-1)?.role === 'assistant') return
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
}

/** Forgets an answer that failed. */
export const dismiss = (id: string): void => put(id, undefined)

interface Data {
  sources?: Source[]
  text?: string
  proposal?: Proposal
  message?: Message
}

/** Reads server-sent events, and returns the message that they end with. */
async function follow(id: string, stream: ReadableStream<Uint8Array>): Promise<Message | undefined> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return undefined
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const line = block.split('\n').find((one) => one.startsWith('data: '))
      if (line === undefined) continue
      const data = JSON.parse(line.slice(6)) as Data
      if (data.message) return data.message
      add(id, ({ text, proposals }) => ({
        ...(data.sources && { sources: data.sources }),
        ...(data.text && { text: text + data.text }),
        ...(data.proposal && { proposals: [...proposals, data.proposal] }),
      }))
    }
  }
}
