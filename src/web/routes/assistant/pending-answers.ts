/**
 * Answers that are being written. They are kept outside of React, so that opening another page does not stop the model.
 * Closing the tab or the Stop button does.
 */
import type { Message, Proposal, Source } from '../../../features/assistant/schema.ts'
import { openEvents } from '../../api.ts'
import { createStore } from '../../lib/store.ts'
import { queryClient } from '../../query-client.ts'
import { messagesQuery, refreshChat } from './queries.ts'
import { words } from './words.ts'

export interface PendingAnswer {
  question: string
  sources: readonly Source[]
  text: string
  proposals: readonly Proposal[]
  /** Why there is no answer. */
  error?: Error
  stop(): void
}

const pendingAnswers = createStore<ReadonlyMap<string, PendingAnswer>>(new Map())

export const usePendingAnswer = (id: string): PendingAnswer | undefined => pendingAnswers.use().get(id)

function setPendingAnswer(id: string, writing: PendingAnswer | undefined): void {
  const next = new Map(pendingAnswers.get())
  if (writing) next.set(id, writing)
  else next.delete(id)
  pendingAnswers.set(next)
}

function updatePendingAnswer(id: string, part: (before: PendingAnswer) => Partial<PendingAnswer>): void {
  const before = pendingAnswers.get().get(id)
  if (before) setPendingAnswer(id, { ...before, ...part(before) })
}

/** Asks a question in a chat, and follows its answer until it is stored. */
export async function askQuestion(id: string, question: string): Promise<void> {
  const stop = new AbortController()
  setPendingAnswer(id, { question, sources: [], text: '', proposals: [], stop: () => stop.abort() })
  try {
    const stream = await openEvents(`/api/ai/sessions/${id}/messages`, { content: question }, stop.signal)
    const message = await readAnswerEvents(id, stream)
    if (!message) throw new Error(words.lost)
    queryClient.setQueryData(
      messagesQuery(id).queryKey,
      (before) => before && { ...before, items: [...before.items, message] },
    )
  } catch (error) {
    if (!stop.signal.aborted) return updatePendingAnswer(id, () => ({ error: error as Error }))
    await waitUntilStored(id)
  }
  await refreshChat(queryClient, id)
  setPendingAnswer(id, undefined)
}

/** Waits until the server has stored the part of the answer before the stop. */
async function waitUntilStored(id: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { items } = await queryClient.fetchQuery({ ...messagesQuery(id), staleTime: 0 })
    if (items.at(-1)?.role === 'assistant') return
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
}

/** Forgets an answer that failed. */
export const dismissAnswer = (id: string): void => setPendingAnswer(id, undefined)

interface Data {
  sources?: Source[]
  text?: string
  proposal?: Proposal
  message?: Message
}

/** Reads server-sent events, and returns the message that they end with. */
async function readAnswerEvents(id: string, stream: ReadableStream<Uint8Array>): Promise<Message | undefined> {
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
      updatePendingAnswer(id, ({ text, proposals }) => ({
        ...(data.sources && { sources: data.sources }),
        ...(data.text && { text: text + data.text }),
        ...(data.proposal && { proposals: [...proposals, data.proposal] }),
      }))
    }
  }
}
