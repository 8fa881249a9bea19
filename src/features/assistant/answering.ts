import { sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { switchOrganization } from '../../auth/actor.ts'
import type { Config } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { ChatRefused, type ChatTurn, type ChatUsage, streamChat, type ToolCall } from '../../outside/chat.ts'
import { visibleText } from '../../text/text.ts'
import { estimateTokens } from '../../text/token-estimate.ts'
import { undefinedIfNotFound } from '../agents/names.ts'
import { CitedText } from '../search/citations.ts'
import { chatAnswered } from './events.ts'
import type { OpenFiles } from './files.ts'
import { addUsage } from './limits.ts'
import { runTool, toolsFor } from './model-tools.ts'
import { buildTurns, ThoughtFilter } from './prompt.ts'
import { type Asker, chatEvent, chatWriteRule, findChat, isOwnChat, narrowAsker } from './rows.ts'
import type { AiSession, AnswerListener, Message, Proposal } from './schema.ts'
import type { Sources } from './sources.ts'
import { aiMessages, aiSessions } from './table.ts'

/** A stored question with the sources for its answer. */
export interface PreparedQuestion {
  /** The id that the answer gets. */
  answerId: string
  session: AiSession
  asker: Asker
  question: string
  history: Pick<Message, 'role' | 'content'>[]
  sources: Sources
  card?: string
  files?: OpenFiles
}

/** Limit of an answer in tokens, and in characters in case the model server ignores it. */
const ANSWER_TOKENS = 2000
const ANSWER_TEXT = 12_000
const ROUNDS = 4
const CALLS = 8

const NO_MODEL = 'No chat model is set up on this server.'
const ONLY_SOURCES = `${NO_MODEL} These records match your question.`
const NOTHING = 'No record that you can read matches the question.'

/** Model servers that refused tools and token limits, and then answered without them. */
const plainServers = new WeakSet<Config>()

/** Writes the answer to one question, and stores it however it ends. */
export class AnswerWriter {
  readonly proposals: Proposal[] = []
  /** Characters that the model wrote. */
  #length = 0
  readonly #text: CitedText
  #usage: ChatUsage | undefined
  #spent = ''
  #calls = 0
  #isTooLong = false
  #isPlain: boolean
  #turns: ChatTurn[] = []
  readonly #signal: AbortSignal
  readonly #limit: AbortSignal
  /** Number of sources in the prompt. The model gets later ones as results of its tools. */
  readonly #first: number

  constructor(
    private readonly ctx: Ctx,
    private readonly prepared: PreparedQuestion,
    private readonly emit: AnswerListener,
  ) {
    this.#isPlain = plainServers.has(ctx.app.config)
    this.#first = prepared.sources.all.length
    this.#text = new CitedText(() => {
      const { shown } = prepared.sources
      return { sources: shown.length, addresses: new Set(shown.flatMap(({ url }) => url ?? [])) }
    })
    this.#limit = AbortSignal.timeout(ctx.app.config.CHAT_MAX_SECONDS * 1000)
    this.#signal = ctx.signal ? AbortSignal.any([ctx.signal, this.#limit]) : this.#limit
  }

  async write(): Promise<Message> {
    const { sources, card, history } = this.prepared
    this.emit({ type: 'sources', sources: sources.shown })
    if (!this.ctx.app.config.CHAT_URL)
      return this.#store('no_model', sources.all.length > 0 ? ONLY_SOURCES : `${NO_MODEL} ${NOTHING}`)
    // Without sources, a model would invent an answer.
    if (sources.all.length === 0 && !card && history.length === 0) return this.#store('complete', NOTHING)
    try {
      await this.#converse()
      return await this.#finish()
    } catch (error) {
      return this.#fail(error)
    }
  }

  async #finish(): Promise<Message> {
    this.#end()
    if (this.#text.text === '' && this.proposals.length === 0)
      throw new AppError('upstream_failed', 'The chat model returned an empty answer.')
    return this.#store('complete')
  }

  #fail(error: unknown): Promise<Message> {
    this.#end()
    if (this.ctx.signal?.aborted) return this.#store('stopped')
    const isLate = this.#limit.aborted || (error instanceof AppError && error.code === 'upstream_timeout')
    const cause = error instanceof AppError ? error.details.cause : error
    this.ctx.app.log.warn('chat model did not answer', { error: cause, text: this.#length })
    return this.#store('failed', undefined, isLate ? 'upstream_timeout' : 'upstream_failed')
  }

  async #store(status: Message['status'], text = this.#text.text, error: Message['error'] = null): Promise<Message> {
    const { sources, session, answerId } = this.prepared
    const isAsked = this.#spent !== ''
    const usage = isAsked
      ? this.#usage
        ? { ...this.#usage, estimated: false }
        : { prompt: estimateTokens(this.#spent), completion: estimateTokens(this.#text.text), estimated: true }
      : null
    const message: Message = {
      id: answerId,
      sessionId: session.id,
      createdAt: this.ctx.app.clock().toISOString(),
      role: 'assistant',
      content: text,
      status,
      sources: sources.shown,
      citations: this.#text.citations,
      proposals: this.proposals,
      usage,
      model: isAsked ? (this.ctx.app.config.CHAT_MODEL ?? null) : null,
      error,
    }
    await storeAnswer({ ...this.ctx, now: message.createdAt }, message)
    this.emit({ type: 'done', message })
    return message
  }

  // ---- the model

  async #converse(): Promise<void> {
    for (let round = 0; ; round++) {
      const calls = await this.#turn(round < ROUNDS && this.#calls < CALLS)
      if (calls.length === 0) return
      if (this.#length > 0) this.#say('\n\n')
      await this.#run(calls)
    }
  }

  /** Asks the model, and again with fewer sources or without tools if it refused them. */
  async #turn(mayCall: boolean): Promise<ToolCall[]> {
    const { config } = this.ctx.app
    for (;;) {
      const withTools = mayCall && config.CHAT_TOOLS === 'auto' && !this.#isPlain
      try {
        const calls = await this.#ask(withTools)
        if (this.#isPlain) plainServers.add(config)
        return calls
      } catch (error) {
        if (!(error instanceof ChatRefused)) throw error
        if (error.isTooLong && !this.#isTooLong) this.#isTooLong = true
        else if (!error.isTooLong && !this.#isPlain) this.#isPlain = true
        else throw error
      }
    }
  }

  async #ask(withTools: boolean): Promise<ToolCall[]> {
    const { config } = this.ctx.app
    const { question, sources, card, history, files } = this.prepared
    const turns = buildTurns({
      ...{ question, card, history, withTools, materials: sources.all.slice(0, this.#first) },
      room: config.CHAT_CONTEXT_TOKENS,
      share: this.#isTooLong ? 0.5 : 1,
    })
    const conversation = {
      turns: [...turns, ...this.#turns],
      ...(withTools && { tools: toolsFor(files !== undefined) }),
      ...(!this.#isPlain && { maxTokens: ANSWER_TOKENS }),
    }
    const thoughts = new ThoughtFilter()
    let calls: ToolCall[] = []
    this.#spent += JSON.stringify(conversation.turns)
    for await (const part of streamChat(config, conversation, this.#signal)) {
      if ('text' in part) this.#say(thoughts.take(part.text))
      else if ('calls' in part) calls = withTools ? part.calls : []
      else this.#usage = sumUsage(this.#usage, part.usage)
      if (this.#length > ANSWER_TEXT) {
        this.#say('…')
        return []
      }
    }
    this.#say(thoughts.end())
    return calls
  }

  #say(text: string): void {
    const visible = visibleText(text)
    this.#length += visible.length
    this.#emitText(this.#text.append(visible))
  }

  #end(): void {
    this.#emitText(this.#text.end())
  }

  #emitText(text: string): void {
    if (text !== '') this.emit({ type: 'delta', text })
  }

  /** Runs the tool calls of the model with the rights that the asker has now. */
  async #run(calls: readonly ToolCall[]): Promise<void> {
    const asker = await this.#renewed()
    this.#turns.push({ role: 'assistant', content: '', tool_calls: [...calls] })
    for (const call of calls) {
      this.#signal.throwIfAborted()
      const { sources, files } = this.prepared
      const before = sources.all.length
      const result =
        ++this.#calls > CALLS
          ? { error: 'No more calls. Answer now.' }
          : await runTool({ asker, sources, files, proposals: this.proposals, emit: this.emit }, call)
      if (sources.all.length > before) this.emit({ type: 'sources', sources: sources.shown })
      this.#turns.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) })
    }
  }

  async #renewed(): Promise<Asker> {
    const { app, actor } = this.ctx
    const found = await app.auth.renew(actor)
    if (!('actor' in found))
      throw new AppError(
        'unauthenticated',
        'Your credential was revoked or expired while the answer was written. Sign in again.',
      )
    const { organizationId } = actor
    const isThere = organizationId !== null && found.actor.memberships.has(organizationId)
    const renewed = isThere ? switchOrganization(found.actor, organizationId) : found.actor
    return narrowAsker({ ...this.ctx, actor: renewed }, this.prepared.session)
  }
}

const sumUsage = (a: ChatUsage | undefined, b: ChatUsage): ChatUsage =>
  a ? { prompt: a.prompt + b.prompt, completion: a.completion + b.completion } : b

/** Stores an answer, unless its chat was deleted meanwhile. */
const storeAnswer = write('assistant.storeAnswer', chatWriteRule, async (ctx, message: Message): Promise<void> => {
  if (message.usage) await addUsage(ctx, message.usage.prompt + message.usage.completion)
  const found = await findChat(ctx, message.sessionId).catch(undefinedIfNotFound)
  if (!found) return
  await ctx.db.insert(aiMessages).values(message)
  ctx.emit(chatAnswered, chatEvent(ctx, message.sessionId))
  await ctx.db
    .update(aiSessions)
    .set({ updatedAt: ctx.now, version: sql`${aiSessions.version} + 1` })
    .where(isOwnChat(ctx, message.sessionId))
})
