import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import { splitLines } from '../text/lines.ts'

/** One turn of a conversation, as OpenAI's `/v1/chat/completions` takes it. */
export interface ChatTurn {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  tool_calls?: ToolCall[]
  tool_call_id?: string
}

export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** A function that the model can call. The server decides what it does. */
export interface ToolOffer {
  type: 'function'
  function: { name: string; description: string; parameters: object }
}

interface Conversation {
  turns: readonly ChatTurn[]
  tools?: readonly ToolOffer[]
  maxTokens?: number
}

export interface ChatUsage {
  prompt: number
  completion: number
}

/** What the model sends: text as it is written, and at the end its calls and its token usage. */
export type ChatPart = { text: string } | { calls: ToolCall[] } | { usage: ChatUsage }

const MOST_BYTES = 1 << 20
/** A request of the web API lasts at most half a minute. */
const SHORT_SECONDS = 25

/** The chat server refused the request itself, so that another request may succeed. */
export class ChatRefused extends Error {
  constructor(
    message: string,
    /** The conversation is longer than the model can read. */
    readonly isTooLong: boolean,
  ) {
    super(message)
    this.name = 'ChatRefused'
  }
}

/**
 * Asks the operator's chat model: any server with OpenAI's `/v1/chat/completions`. Sends only the messages and the
 * operator's key, nothing about the user. The model gets no tools, and its reply is treated as text.
 */
export async function completeChat(config: Config, turns: readonly ChatTurn[], signal?: AbortSignal): Promise<string> {
  const limit = AbortSignal.timeout(Math.min(config.CHAT_TIMEOUT_SECONDS, SHORT_SECONDS) * 1000)
  try {
    const response = await sendChat(config, { messages: turns, stream: false }, either(limit, signal))
    const body = await textOf(response)
    if (!response.ok) throw new Error(`the chat server returned status ${response.status}: ${maskedBody(config, body)}`)
    const { content } = wholeOf(body)
    if (!content?.trim()) throw new Error(`the chat server returned no text: ${maskedBody(config, body)}`)
    return content
  } catch (cause) {
    throw chatError(cause, limit.aborted)
  }
}

/**
 * Asks the chat model and yields what it writes, as it is written. A server that does not stream is read as a whole.
 * Throws `ChatRefused`, or an AppError if the server failed or its first byte took too long.
 */
export async function* streamChat(config: Config, asked: Conversation, signal: AbortSignal): AsyncGenerator<ChatPart> {
  const first = new AbortController()
  const timer = setTimeout(() => first.abort(), config.CHAT_TIMEOUT_SECONDS * 1000)
  const stop = new AbortController()
  try {
    const response = await sendChat(config, bodyOf(asked), AbortSignal.any([first.signal, signal, stop.signal]))
    if (!response.ok) throw refusal(config, response.status, await textOf(response))
    if (!response.headers.get('content-type')?.includes('text/event-stream')) {
      const whole = wholeOf(await textOf(response))
      if (whole.content) yield { text: whole.content }
      if (whole.calls.length > 0) yield { calls: whole.calls }
      if (whole.usage) yield { usage: whole.usage }
      return
    }
    yield* readStream(response, () => clearTimeout(timer))
  } catch (cause) {
    if (cause instanceof ChatRefused || signal.aborted) throw cause
    throw chatError(cause, first.signal.aborted)
  } finally {
    clearTimeout(timer)
    // Closes the connection, so that the chat server stops writing.
    stop.abort()
  }
}

const bodyOf = ({ turns, tools, maxTokens }: Conversation): object => ({
  messages: turns,
  stream: true,
  ...(maxTokens && { max_tokens: maxTokens, stream_options: { include_usage: true } }),
  ...(tools && tools.length > 0 && { tools }),
})

const either = (limit: AbortSignal, signal: AbortSignal | undefined): AbortSignal =>
  signal ? AbortSignal.any([signal, limit]) : limit

function sendChat({ CHAT_URL, CHAT_MODEL, CHAT_KEY }: Config, body: object, signal: AbortSignal): Promise<Response> {
  if (!CHAT_URL) throw new Error('no chat model is set up')
  return fetch(`${CHAT_URL.replace(/\/$/, '')}/chat/completions`, {
    method: 'POST',
    redirect: 'error',
    signal,
    headers: { 'content-type': 'application/json', ...(CHAT_KEY && { authorization: `Bearer ${CHAT_KEY}` }) },
    body: JSON.stringify({ model: CHAT_MODEL, ...body }),
  })
}

/** Some servers repeat the key they refuse. */
const maskedBody = ({ CHAT_KEY }: Config, body: string): string =>
  (CHAT_KEY ? body.replaceAll(CHAT_KEY, '[redacted]') : body).slice(0, 200)

const chatError = (cause: unknown, isLate: boolean): AppError =>
  isLate
    ? new AppError('upstream_timeout', 'The chat model took too long. The sources found are still valid.', { cause })
    : new AppError('upstream_failed', 'The chat model gave no answer. The sources found are still valid.', { cause })

/** The `code` or `type` with which OpenAI and llama.cpp refuse a conversation that is too long. */
const tooLong = new Set<unknown>(['context_length_exceeded', 'exceed_context_size_error'])
/** Other servers report it only in their text, and proxies quote the error of their upstream. */
const tooLongInWords = /maximum context length|context window|context_length_exceeded|exceed_context_size_error/i
/** Statuses with which servers refuse fields that they do not know. */
const refusing = new Set([400, 404, 413, 422, 500, 501])

function refusal(config: Config, status: number, body: string): Error {
  const message = `the chat server returned status ${status}: ${maskedBody(config, body)}`
  return refusing.has(status) ? new ChatRefused(message, isTooLong(body)) : new Error(message)
}

function isTooLong(body: string): boolean {
  const { code, type } = fieldsOf(fieldsOf(parseJsonOr(body)).error)
  return tooLong.has(code) || tooLong.has(type) || tooLongInWords.test(body)
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MOST_BYTES) throw new Error('the chat server returned more than 1 MiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

// ---- what the server sends

type Fields = Record<string, unknown>
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const parseJsonOr = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
const firstOf = (value: unknown): Fields => fieldsOf(Array.isArray(value) ? value[0] : undefined)
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')
const countIn = (value: unknown): number => (Number.isSafeInteger(value) && (value as number) >= 0 ? Number(value) : 0)

function usageOf(value: unknown): ChatUsage | undefined {
  const { prompt_tokens: prompt, completion_tokens: completion } = fieldsOf(value)
  const usage = { prompt: countIn(prompt), completion: countIn(completion) }
  return usage.prompt + usage.completion > 0 ? usage : undefined
}

/** Reads the reply of a server that does not stream. */
function wholeOf(body: string): { content?: string; calls: ToolCall[]; usage?: ChatUsage } {
  const { choices, usage } = fieldsOf(JSON.parse(body))
  const { content, tool_calls: given } = fieldsOf(firstOf(choices).message)
  const calls = new Calls()
  if (Array.isArray(given)) for (const [index, call] of given.entries()) calls.add({ index, ...fieldsOf(call) })
  if (typeof content !== 'string' && calls.all.length === 0)
    throw new Error(`the chat server returned no text: ${body.slice(0, 200)}`)
  return { content: textIn(content), calls: calls.all, usage: usageOf(usage) }
}

/** Collects calls, whose names and arguments arrive in pieces. */
class Calls {
  readonly #pieces = new Map<number, { id: string; name: string; arguments: string }>()

  add({ index, id, function: named }: Fields): void {
    const place = countIn(index)
    if (place > 31) throw new Error('the chat server returned too many calls')
    const { name, arguments: given } = fieldsOf(named)
    const before = this.#pieces.get(place) ?? { id: '', name: '', arguments: '' }
    this.#pieces.set(place, {
      id: before.id || textIn(id).slice(0, 100),
      name: before.name + textIn(name),
      arguments:
        before.arguments + (typeof given === 'string' ? given : given === undefined ? '' : JSON.stringify(given)),
    })
  }

  get all(): ToolCall[] {
    return [...this.#pieces].map(([place, { id, name, arguments: given }]) => ({
      id: id || `call_${place}`,
      type: 'function',
      function: { name, arguments: given || '{}' },
    }))
  }
}

/** Reads server-sent events. `onFirst` is called with the first bytes. */
async function* readStream({ body }: Response, onFirst: () => void): AsyncGenerator<ChatPart> {
  const calls = new Calls()
  let size = 0
  let isDone = false
  const counted = (async function* () {
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      onFirst()
      size += chunk.length
      if (size > MOST_BYTES) throw new Error('the chat server returned more than 1 MiB')
      yield chunk
    }
  })()
  for await (const line of splitLines(counted)) {
    if (!line.startsWith('data:')) continue
    const data = line.slice(5).trim()
    if (data === '[DONE]') {
      isDone = true
      break
    }
    const { choices, usage, error } = fieldsOf(JSON.parse(data))
    if (error !== undefined) throw new Error('the chat server reported an error in its stream')
    const { delta, finish_reason: finish } = firstOf(choices)
    const { content, tool_calls: pieces } = fieldsOf(delta)
    if (textIn(content)) yield { text: textIn(content) }
    if (Array.isArray(pieces)) for (const piece of pieces) calls.add(fieldsOf(piece))
    if (typeof finish === 'string') isDone = true
    const cost = usageOf(usage)
    if (cost) yield { usage: cost }
  }
  if (!isDone) throw new Error('the chat server ended in the middle of its reply')
  if (calls.all.length > 0) yield { calls: calls.all }
}
