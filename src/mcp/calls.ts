import { ProtocolError, ProtocolErrorCode, type RequestId } from '@modelcontextprotocol/server'
import { type Ctx, contextOf } from '../action.ts'
import type { Actor } from '../auth/actor.ts'
import { scopeHolds } from '../auth/policy.ts'
import { check, decodeInput } from '../check.ts'
import { AppError } from '../errors.ts'
import type { Guard } from '../http/guard.ts'
import { callReceived } from '../http/hooks.ts'
import type { Owner } from '../live/stream-connections.ts'
import { findSimilarNames } from '../records/similar-names.ts'
import type { App } from '../services.ts'
import { withoutSecrets } from '../text/secrets.ts'
import { logError, toAppError } from '../thrown.ts'
import { commonAuthorId, errorAttribution, resultAttribution, type UserNames } from './attribution.ts'
import { type Arguments, type ToolCatalogue, toolRefusal } from './catalogue.ts'
import type { ToolCaller } from './protocol.ts'
import { applyCorrection, type Correctable, keepArguments } from './refusals/corrections.ts'
import { explainErrors, nearestTool, summarizeErrors } from './refusals/mistakes.ts'
import { type ToolOutput, toolFailure, toolSuccess, toRpcResponse } from './result.ts'
import { findRecordNames } from './result-names.ts'
import type { Fields, ResultContext } from './shorten-result.ts'
import type { ToolCallMessage } from './streams/sse.ts'
import { resolveCall, type Tool } from './tool.ts'

const CALLS_AT_ONCE = 16
const DRAIN_MS = 5_000

/** Runs tools: limits, rights, input, result. */
export class ToolCalls {
  readonly #running = new Map<string, number>()

  constructor(
    private readonly app: App,
    private readonly guard: Guard,
    private readonly catalogue: ToolCatalogue,
    private readonly names: UserNames,
  ) {}

  /**
   * Throws 403 for a call that needs another scope, if the program can request it from its user. For other tokens, the
   * result of the call contains the error.
   */
  requireScope(actor: Actor, params: unknown): void {
    const { name, arguments: args } = (params ?? {}) as { name?: unknown; arguments?: Arguments }
    const tool = actor.granted && typeof name === 'string' ? this.catalogue.get(name) : undefined
    if (!tool) return
    const { action } = resolveCall(tool, typeof args === 'object' && args !== null ? args : {})
    const { scope } = action.rule
    if (scope && !scopeHolds(actor.scopes, scope))
      throw new AppError('forbidden', `${tool.name} needs the scope ${scope}, which this token lacks.`, { scope })
  }

  async run(name: string, args: Arguments, caller: ToolCaller, signal: AbortSignal): Promise<ToolOutput> {
    const { owner } = caller
    let correctable: Correctable | undefined
    try {
      const wait = this.guard.perToken.take(owner.credentialId)
      if (wait > 0) throw this.guard.limitError(this.guard.perToken, wait)
      const tool = this.catalogue.get(name)
      if (!tool) throw this.#unknownTool(name, caller)
      const { args: sent, errors: twice } = this.catalogue.read(tool, args)
      const runs = resolveCall(tool, sent)
      const refused = toolRefusal(tool, caller.actor, caller.selection, runs)
      if (refused) throw refused
      const { correction } = tool
      const corrected = correction && (await applyCorrection(this.#contextFor({}, caller, signal), correction, sent))
      const given = corrected?.args ?? sent
      if (correction) correctable = { tool: tool.name, correction, args: given, corrects: corrected?.corrects }
      const found = twice.length > 0 ? twice : check(tool.input, given)
      const errors = found.length > 0 ? explainErrors(found, tool, this.catalogue.usable(caller)) : found
      if (errors.length > 0) throw new AppError('invalid', summarizeErrors(errors), { errors })
      const input = decodeInput(tool.input, given)
      const ctx = this.#contextFor(input, caller, signal)
      await callReceived.call(ctx, namedIn(input))
      const { result, shown } = await this.#limited(owner, () => tool.run(ctx, input as never))
      const source = await resultAttribution(
        ctx,
        { name: tool.name, action: runs.action },
        { result, shown },
        this.names,
        input,
      )
      const known = await knownFor(ctx, tool, input, shown)
      return toolSuccess(shown, tool, { ...known, author: commonAuthorId(result, source, ctx.actor) }, source)
    } catch (thrown) {
      if (thrown instanceof ProtocolError) throw thrown
      return this.#failed(toAppError(thrown), { name, args, correctable }, caller, signal)
    }
  }

  /** Returns the error of a call, with what the caller can do about it. */
  async #failed(
    error: AppError,
    { name, args, correctable }: { name: string; args: Arguments; correctable: Correctable | undefined },
    caller: ToolCaller,
    signal: AbortSignal,
  ): Promise<ToolOutput> {
    const { requestId } = caller
    logError(this.app.log, error, { requestId, tool: name })
    const { subject } = error.details
    const ctx = this.#contextFor({}, caller, signal)
    // A failure of these lookups must not hide the error.
    const near = subject ? await findSimilarNames(ctx, subject).catch(() => []) : []
    const kept = correctable && (await keepArguments(ctx, correctable, error).catch(() => undefined))
    const usable = new Set(this.catalogue.usable(caller).map((tool) => tool.name))
    const source = errorAttribution(name, error, args)
    const tool = this.catalogue.get(name)?.name ?? name
    return toolFailure(error, { tool, requestId, usable, near, source, kept })
  }

  /** Returns a JSON-RPC response. Bypasses the SDK, whose checks of every message cost more than the rest of a call. */
  async respond(
    id: RequestId,
    params: ToolCallMessage['params'],
    caller: ToolCaller,
    signal: AbortSignal,
  ): Promise<string> {
    try {
      return toRpcResponse(id, await this.run(params.name, params.arguments ?? {}, caller, signal))
    } catch (thrown) {
      const known = thrown instanceof ProtocolError
      if (!known) this.app.log.error('tool call failed', { requestId: caller.requestId, error: thrown })
      const error = known
        ? { code: thrown.code, message: thrown.message }
        : { code: ProtocolErrorCode.InternalError, message: `Internal error (request ${caller.requestId})` }
      return JSON.stringify({ jsonrpc: '2.0', id, error })
    }
  }

  /** Waits a moment for running calls to end. */
  async drain(): Promise<void> {
    const deadline = Date.now() + DRAIN_MS
    while (this.#running.size > 0 && Date.now() < deadline) await Bun.sleep(20)
  }

  #unknownTool(name: string, caller: ToolCaller): ProtocolError {
    const meant = nearestTool(name, this.catalogue.usable(caller))
    const next = meant ? `Did you mean ${meant}?` : 'tools/list lists your tools.'
    const text = `Unknown tool: ${withoutSecrets(name).slice(0, 100)}. ${next}`
    return new ProtocolError(ProtocolErrorCode.InvalidParams, text)
  }

  #contextFor(input: Arguments, caller: ToolCaller, signal: AbortSignal): Ctx {
    const { idempotencyKey, expectedVersion } = input as { idempotencyKey?: string; expectedVersion?: number }
    const { actor, requestId, from, userAgent, connection } = caller
    const call = { requestId, from, userAgent, connection, idempotencyKey, expectedVersion, signal }
    return contextOf(this.app, actor, call)
  }

  /** Runs a call, unless its token already has too many running. */
  async #limited<T>({ credentialId }: Owner, work: () => Promise<T>): Promise<T> {
    const now = this.#running.get(credentialId) ?? 0
    if (now >= CALLS_AT_ONCE)
      throw new AppError('rate_limited', `This token has ${now} calls running. Wait for one to end, then call again.`, {
        retryAfter: 1,
      })
    this.#running.set(credentialId, now + 1)
    try {
      return await work()
    } finally {
      const left = (this.#running.get(credentialId) ?? 1) - 1
      if (left > 0) this.#running.set(credentialId, left)
      else this.#running.delete(credentialId)
    }
  }
}

/** Returns the session and the tasks that a call names. */
function namedIn({ session, task, tasks }: Arguments): { session?: string; tasks: string[] } {
  const refs = [task, ...(Array.isArray(tasks) ? tasks : [])].map((one) => (one as { task?: unknown })?.task ?? one)
  return {
    ...(typeof session === 'string' && { session }),
    tasks: refs.filter((ref) => typeof ref === 'string'),
  }
}

async function knownFor(ctx: Ctx, tool: Tool, sent: Fields, answer: unknown): Promise<ResultContext> {
  const { agent, userId, projectId } = ctx.actor
  return {
    names: await findRecordNames(ctx, tool.name, answer),
    me: agent?.id ?? userId ?? undefined,
    oneProject: sent.project !== undefined,
    project: projectId ?? undefined,
    sent,
  }
}
