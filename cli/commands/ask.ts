import { AppError, notFound } from '../../src/errors.ts'
import type { AiSession, AiSessionPage, Message, Proposal, Source } from '../../src/features/assistant/schema.ts'
import { splitLines } from '../../src/text/lines.ts'
import type { Client } from '../api/client.ts'
import { stopSignal } from '../api/events.ts'
import { withHints } from '../api/hints.ts'
import { type ServerChoice, signedInClient } from '../api/profiles.ts'
import { linkedProject } from '../api/project-link.ts'
import { findProjectId, pathTo } from '../api/reference.ts'
import { dim, printNote, printResult, safeLine, withoutControls } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

interface Options extends ServerChoice {
  json?: boolean
  project?: string
  allProjects?: boolean
  repo?: string
  chat?: string
}

/** Asks the assistant, and prints its answer as it is written, then its sources. Ctrl-C stops the answer. */
export async function askAssistant(words: string[], { json, ...options }: Options): Promise<void> {
  const { client } = signedInClient(options)
  const [path, body] = await withHints(client, () => chatRequest(client, words.join(' '), options))
  const stop = stopSignal()
  const stream = await withHints(client, () => client.open(path, 'text/event-stream', stop, body))
  const message = await readAnswer(stream, stop, json ? () => undefined : writeText)
  if (message === undefined) return
  const { content, status, proposals, sessionId } = message
  const hasSaid = status === 'complete' || status === 'failed'
  printResult(
    json,
    message,
    ...(hasSaid ? [''] : [content]),
    ...sourceLines(client, message),
    ...proposalLines(client, message, proposals),
  )
  if (status === 'failed')
    throw new AppError(
      message.error ?? 'upstream_failed',
      'The chat model did not answer. The sources above are still valid.',
    )
  if (!json) printNote(dim(`Continue with: tutti ask --chat ${sessionId.slice(0, 13)} …`, 2))
}

/** Returns path and body of the request: in an existing chat, a chat about a repository, or a new chat. */
async function chatRequest(client: Client, question: string, options: Options): Promise<[string, object]> {
  if (options.chat !== undefined && options.repo !== undefined)
    throw new Refusal('A chat already has its repository. Remove --repo.')
  if (options.repo !== undefined) return [pathTo('/api/repos/:ref/chat', options.repo), { prompt: question }]
  const chat = options.chat === undefined ? await newChat(client, options) : await findChat(client, options.chat)
  return [pathTo('/api/ai/sessions/:id/messages', chat), { content: question }]
}

async function newChat(client: Client, { project, allProjects }: Options): Promise<string> {
  const within = project ?? (allProjects ? undefined : linkedProject(client.server)?.project)
  const about = within === undefined ? {} : { projectId: await findProjectId(client, within) }
  return (await client.post<AiSession>('/api/ai/sessions', about)).id
}

/** Finds a chat by its id, by the beginning of it, or the latest. */
async function findChat(client: Client, ref: string): Promise<string> {
  const { items } = await client.get<AiSessionPage>('/api/ai/sessions?limit=200')
  const found = ref === 'last' ? items[0] : items.find(({ id }) => ref.length >= 8 && id.startsWith(ref.toLowerCase()))
  if (!found) throw notFound('chat', ref)
  return found.id
}

/** Reads the events of an answer; `onText` receives the text as it comes. Returns undefined if it was stopped. */
async function readAnswer(
  stream: ReadableStream<Uint8Array>,
  stop: AbortSignal,
  onText: (text: string) => void,
): Promise<Message | undefined> {
  let event = ''
  try {
    for await (const line of splitLines(stream)) {
      if (line.startsWith('event: ')) event = line.slice(7)
      if (!line.startsWith('data: ')) continue
      const data = JSON.parse(line.slice(6)) as { text?: string; message?: Message }
      if (event === 'delta') onText(data.text ?? '')
      if (event === 'done') return data.message
    }
  } catch (error) {
    if (stop.aborted) return undefined
    throw new AppError('unavailable', 'The connection was lost before the answer was complete.', { cause: error })
  }
  throw new AppError('unavailable', 'The connection was lost before the answer was complete.')
}

const writeText = (text: string): void => void process.stdout.write(withoutControls(text, 1))

/** Lists the sources that the answer cites, or all sources if it cites none. */
function sourceLines({ server }: Client, { sources, citations }: Message): string[] {
  const named = citations.length > 0 ? sources.filter(({ number }) => citations.includes(number)) : sources
  if (named.length === 0) return []
  return [
    '',
    ...named.map(
      (source) => `[${source.number}] ${source.kind} ${safeLine(source.title)}  ${dim(placeOf(server, source))}`,
    ),
  ]
}

/** Returns the address of the page that shows a source. A record's page has the path of the web API without `/api`. */
const placeOf = (server: string, { kind, path, lines, url }: Source): string =>
  safeLine(kind === 'file' ? (url ?? `${path}:${lines ?? ''}`) : `${server}${path.replace(/^\/api/, '')}`)

function proposalLines({ server }: Client, { sessionId }: Message, proposals: readonly Proposal[]): string[] {
  if (proposals.length === 0) return []
  return [
    '',
    ...proposals.map(({ number, kind, draft }) => `Proposal ${number}: ${kind}, ${titlesOf(draft)}`),
    `Read, edit and accept at ${server}/assistant/${sessionId}`,
  ]
}

const titlesOf = (draft: Proposal['draft']): string =>
  'tasks' in draft
    ? draft.tasks.map(({ title }) => safeLine(title)).join('; ')
    : 'epics' in draft
      ? draft.epics.map(({ title }) => safeLine(title)).join('; ')
      : safeLine(draft.title)
