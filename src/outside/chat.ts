import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'

export interface Message {
  role: 'system' | 'user'
  content: string
}

const MOST_BYTES = 1 << 20

/**
 * Asks the operator's chat model: any server with OpenAI's `/v1/chat/completions`. Sends only the messages and the
 * operator's key, nothing about the user. The model gets no tools, and its reply is treated as text.
 */
export async function complete(config: Config, messages: readonly Message[], signal?: AbortSignal): Promise<string> {
  const { CHAT_URL, CHAT_MODEL, CHAT_KEY, CHAT_TIMEOUT_SECONDS } = config
  if (!CHAT_URL) throw new Error('no chat model is set up')
  const limit = AbortSignal.timeout(CHAT_TIMEOUT_SECONDS * 1000)
  try {
    const response = await fetch(`${CHAT_URL.replace(/\/$/, '')}/chat/completions`, {
      method: 'POST',
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      headers: { 'content-type': 'application/json', ...(CHAT_KEY && { authorization: `Bearer ${CHAT_KEY}` }) },
      body: JSON.stringify({ model: CHAT_MODEL, messages, stream: false }),
    })
    const body = await textOf(response)
    // Some servers repeat the key they refuse.
    const excerpt = (CHAT_KEY ? body.replaceAll(CHAT_KEY, '[redacted]') : body).slice(0, 200)
    if (!response.ok) throw new Error(`the chat server returned status ${response.status}: ${excerpt}`)
    const content = contentOf(body)
    if (!content) throw new Error(`the chat server returned no text: ${excerpt}`)
    return content
  } catch (cause) {
    if (limit.aborted)
      throw new AppError('upstream_timeout', 'The chat model took too long. The sources found are still valid.', {
        cause,
      })
    throw new AppError('upstream_failed', 'The chat model gave no answer. The sources found are still valid.', {
      cause,
    })
  }
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

function contentOf(body: string): string | undefined {
  const parsed = JSON.parse(body) as { choices?: { message?: { content?: unknown } }[] } | null
  const content = parsed?.choices?.[0]?.message?.content
  return typeof content === 'string' && content.trim() ? content : undefined
}
