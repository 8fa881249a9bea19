import { and, desc, eq, sql } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { newId } from '../../db/columns.ts'
import { AppError, invalid } from '../../errors.ts'
import { idempotencyKeys } from '../../events/table.ts'
import type { SearchName } from '../../records/names.ts'
import { mayRead } from '../../records/readable.ts'
import * as repositories from '../repositories/rows.ts'
import { get as getRepository } from '../repositories/service.ts'
import { writeBrief } from '../sessions/brief.ts'
import { AnswerWriter, type PreparedQuestion } from './answering.ts'
import { chatAsked } from './events.ts'
import { openFiles } from './files.ts'
import { answerSlotsOf, countQuestion } from './limits.ts'
import {
  type Asker,
  chatEvent,
  chatWriteRule,
  findChat,
  isOwnChat,
  messageColumns,
  narrowAsker,
  requireEnabled,
} from './rows.ts'
import {
  type AiSession,
  type AnswerListener,
  type ChatCreate,
  CONTENT_BYTES,
  type Message,
  type MessageCreate,
} from './schema.ts'
import { insertChat } from './sessions.ts'
import { recordsFor, Sources } from './sources.ts'
import { aiMessages, aiSessions } from './table.ts'

const MOST_MESSAGES = 200
const PASSAGES = 8
/** Fewer if there are also passages of files. */
const FEWER_PASSAGES = 4
const CARD_TOKENS = 600

/** An answer that is being written, or one that was stored before. */
export interface StartedAnswer {
  /** Where the answer is read, once it is stored. */
  path: string
  answer: Promise<Message>
}

interface Question {
  content: string
  kinds?: SearchName[]
  paths?: string[]
  emit: AnswerListener
}

/** Asks a question in a chat. Returns once the question is accepted, while the answer is still being written. */
export const ask = flow(
  'assistant.ask',
  chatWriteRule,
  async (
    ctx,
    { id, ...question }: MessageCreate & { id: string; emit: AnswerListener },
    keyed,
  ): Promise<StartedAnswer> => beginAnswer(ctx, keyed, await findChat(ctx, id), question),
  { outside: true },
)

/** Asks about a repository, in a chat that is bound to it; by default in a new one. */
export const askRepository = flow(
  'assistant.chat',
  chatWriteRule,
  async (
    ctx,
    { ref, prompt, sessionId, emit }: ChatCreate & { ref: string; emit: AnswerListener },
    keyed,
  ): Promise<StartedAnswer> => {
    await requireEnabled(ctx)
    const { id, organizationId, projectId } = await getRepository(ctx, { ref })
    const question = { content: prompt, emit }
    if (sessionId === undefined)
      return beginAnswer(ctx, keyed, { organizationId, projectId, repositoryId: id }, question)
    const session = await findChat(ctx, sessionId)
    if (session.repositoryId !== id)
      throw invalid('/sessionId', 'This chat is not about this repository. Use another chat, or leave sessionId out.')
    return beginAnswer(ctx, keyed, session, question)
  },
  { outside: true },
)

/** A chat, or where a new one will be. */
type Place = Pick<AiSession, 'organizationId' | 'projectId' | 'repositoryId'> & { id?: string }

async function beginAnswer(
  ctx: Ctx,
  keyed: Ctx,
  place: Place,
  { emit, ...question }: Question,
): Promise<StartedAnswer> {
  if (Buffer.byteLength(question.content) > CONTENT_BYTES)
    throw invalid('/content', `The question is larger than ${CONTENT_BYTES >> 10} KiB.`, 'too_long')
  if (question.paths?.length && !place.repositoryId)
    throw invalid('/paths', 'paths works only in a chat about a repository.')
  const input = { ...question, place: placeOf(place) }
  if (await isKeyUsed(keyed)) return findEarlierAnswer(ctx, await storeQuestion(keyed, input), emit)
  const leave = ctx.app.config.CHAT_URL ? await enterQueue(ctx) : () => undefined
  try {
    const gathered = await gatherSources(ctx, place, question)
    const stored = await storeQuestion(keyed, input)
    // Another request with this key was faster.
    if (!unwrittenAnswers.delete(stored.answerId)) {
      leave()
      return await findEarlierAnswer(ctx, stored, emit)
    }
    const [session, history] = await Promise.all([
      findChat(ctx, stored.sessionId),
      place.id ? historyOf(ctx, stored) : [],
    ])
    const prepared: PreparedQuestion = {
      ...gathered,
      session,
      history,
      question: question.content,
      answerId: stored.answerId,
    }
    return { path: pathOf(stored), answer: new AnswerWriter(ctx, prepared, emit).write().finally(leave) }
  } catch (error) {
    leave()
    throw error
  }
}

const placeOf = ({ id, organizationId, projectId, repositoryId }: Place): Place =>
  id ? { id, organizationId: null, projectId: null, repositoryId: null } : { organizationId, projectId, repositoryId }

/** Counts the question and waits for its turn. Returns a function that ends the turn. */
async function enterQueue(ctx: Ctx): Promise<() => void> {
  const turns = answerSlotsOf(ctx.app)
  const leave = turns.enter(userIdOf(ctx.actor))
  try {
    await countQuestion(ctx)
    const done = await turns.take(ctx.app.config.CHAT_PARALLEL, ctx.signal)
    return () => {
      done()
      leave()
    }
  } catch (error) {
    leave()
    throw error
  }
}

// ---- sources of the answer

async function gatherSources(
  ctx: Ctx,
  place: Place,
  { content, kinds, paths = [] }: Omit<Question, 'emit'>,
): Promise<Pick<PreparedQuestion, 'asker' | 'sources' | 'card' | 'files'>> {
  const asker = await narrowAsker(ctx, place)
  const sources = new Sources()
  const files = await filesOf(ctx, asker, place)
  const limit = files ? FEWER_PASSAGES : PASSAGES
  // In parallel: they wait for the code host, the embedding model and the database.
  const [passages, records, card] = await Promise.all([
    files?.passages(content, paths, PASSAGES) ?? [],
    recordsFor(asker.ctx, { query: content, kinds, projectId: asker.project?.id, limit }),
    cardOf(asker),
  ])
  sources.add(passages)
  sources.add(records)
  return { asker, sources, files, card }
}

/** Opens the repository of a chat, if the asker still sees it and its team has not turned the assistant off. */
async function filesOf(ctx: Ctx, { ctx: narrowed }: Asker, { repositoryId }: Place) {
  if (!repositoryId || !mayRead(ctx, 'repository')) return undefined
  const row = await repositories.findRepository(narrowed, repositoryId).catch((error: unknown) => {
    if (error instanceof AppError && (error.code === 'not_found' || error.code === 'forbidden')) return undefined
    throw error
  })
  return row && openFiles(ctx, row)
}

/** Returns a short brief of the project. */
async function cardOf({ ctx, project }: Asker): Promise<string | undefined> {
  if (!project || !mayRead(ctx, 'project')) return undefined
  const { text } = await writeBrief(ctx, { row: undefined, project, tokens: CARD_TOKENS })
  return `${project.key} ${project.name}\n${text}`
}

async function historyOf(ctx: Ctx, { sessionId, questionId }: StoredQuestion): Promise<PreparedQuestion['history']> {
  const rows = await ctx.db
    .select({ role: aiMessages.role, content: aiMessages.content, status: aiMessages.status })
    .from(aiMessages)
    .where(and(eq(aiMessages.sessionId, sessionId), sql`${aiMessages.id} <> ${questionId}::uuid`))
    .orderBy(desc(aiMessages.createdAt), desc(aiMessages.id))
    .limit(20)
  // Leaves out lists of sources from the time without a chat model.
  return rows.toReversed().filter(({ status }) => status !== 'no_model')
}

// ---- the question

interface StoredQuestion {
  sessionId: string
  questionId: string
  answerId: string
  askedAt: string
}

const pathOf = ({ sessionId, answerId }: Pick<StoredQuestion, 'sessionId' | 'answerId'>): string =>
  `/api/ai/sessions/${sessionId}/messages/${answerId}`

/** Ids of answers that this process still has to begin. */
const unwrittenAnswers = new Set<string>()

/** Stores a question, and its chat if there is none yet. The idempotency key identifies it. */
const storeQuestion = write(
  'assistant.storeQuestion',
  chatWriteRule,
  async (ctx, { place, content }: Omit<Question, 'emit'> & { place: Place }): Promise<StoredQuestion> => {
    const { id, ...subject } = place
    const session = await findChat(ctx, id ?? (await insertChat(ctx, subject)))
    if (session.messages + 2 > MOST_MESSAGES)
      throw new AppError('conflict', `This chat is full: it has ${session.messages} messages. Start a new chat.`, {
        next: [{ route: 'POST /api/ai/sessions', page: '/assistant' }],
      })
    const questionId = newId()
    await ctx.db.insert(aiMessages).values({
      id: questionId,
      createdAt: ctx.now,
      sessionId: session.id,
      role: 'user',
      content,
      status: 'complete',
      sources: [],
      citations: [],
      proposals: [],
    })
    await ctx.db
      .update(aiSessions)
      .set({
        updatedAt: ctx.now,
        version: sql`${aiSessions.version} + 1`,
        ...(session.title === null && { title: titleOf(content) }),
      })
      .where(isOwnChat(ctx, session.id))
    ctx.emit(chatAsked, chatEvent(ctx, session.id))
    const answerId = newId()
    unwrittenAnswers.add(answerId)
    return { sessionId: session.id, questionId, answerId, askedAt: ctx.now }
  },
)

const titleOf = (content: string): string => {
  const line = content.trim().replace(/\s+/g, ' ')
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}

/** Whether the idempotency key of this call was used before. */
async function isKeyUsed({ db, actor, idempotencyKey: key, now }: Ctx): Promise<boolean> {
  if (key === undefined || !actor.credentialId) return false
  const [found] = await db
    .select({ expiresAt: idempotencyKeys.expiresAt })
    .from(idempotencyKeys)
    .where(and(eq(idempotencyKeys.credentialId, actor.credentialId), eq(idempotencyKeys.key, key)))
  return found !== undefined && found.expiresAt > now
}

/** Returns the answer to a question that was asked before with the same key. Throws while it is being written. */
async function findEarlierAnswer(
  ctx: Ctx,
  { answerId, sessionId, askedAt }: StoredQuestion,
  emit: AnswerListener,
): Promise<StartedAnswer> {
  const [found] = await ctx.db.select(messageColumns).from(aiMessages).where(eq(aiMessages.id, answerId))
  if (!found) {
    await findChat(ctx, sessionId)
    const longest = (ctx.app.config.CHAT_MAX_SECONDS + 60) * 1000
    if (Date.parse(ctx.now) - Date.parse(askedAt) > longest)
      throw new AppError(
        'conflict',
        'The answer was lost because the server stopped. Ask again with another idempotency key.',
      )
    throw new AppError('conflict.in_progress', 'The answer to this question is being written. Ask again in a moment.', {
      retryAfter: 5,
    })
  }
  emit({ type: 'sources', sources: found.sources })
  emit({ type: 'done', message: found })
  return { path: pathOf({ answerId, sessionId }), answer: Promise.resolve(found) }
}
