import type { TProperties } from '@sinclair/typebox'
import type { Actor } from './auth/actor.ts'
import { authorize, known, type Rule } from './auth/policy.ts'
import { newId } from './db/columns.ts'
import { DbError } from './db/driver.ts'
import { type Db, drizzleTx } from './db/session.ts'
import { AppError } from './errors.ts'
import type { DataOf, EventType } from './events/catalogue.ts'
import { type AppEvent, insertEvent } from './events/event.ts'
import { claimKey, storeAnswer } from './events/idempotency.ts'
import type { Job } from './jobs/queue.ts'
import type { App } from './services.ts'

/** What an action knows about its call. `db` is the running transaction inside a write. */
export interface Ctx {
  readonly app: App
  readonly actor: Actor
  readonly db: Db
  /** One moment for the whole call. */
  readonly now: string
  readonly requestId: string
  readonly ip: string | null
  readonly userAgent: string | null
  readonly idempotencyKey?: string
  /** `If-Match` or a tool's `expectedVersion`: the version the caller's change is based on. */
  readonly expectedVersion?: number
  /** Fires when the caller has gone away, where the surface can tell. */
  readonly signal?: AbortSignal
  /** Says what changed: audit entry, activity and live event in one, in this transaction, delivered after commit. */
  emit<P extends TProperties>(event: EventType<P>, about: About<P>): void
  /** Work to be done after commit, kept in this transaction and tried until it succeeds. */
  enqueue(job: Job): void
  /** The running write; nested writes join it. */
  readonly unit?: Unit
}

export type About<P extends TProperties = TProperties> = Place &
  (Record<never, never> extends DataOf<P> ? { data?: DataOf<P> } : { data: DataOf<P> })

interface Place {
  subjectId?: string
  organizationId?: string | null
  projectId?: string | null
  userId?: string | null
}

interface Unit {
  action: string
  events: AppEvent[]
  jobs: Job[]
}

export interface Action<I, O> {
  (ctx: Ctx, input: I): Promise<O>
  readonly id: string
  readonly kind: 'read' | 'write'
  readonly rule: Rule
  readonly hints: Hints
}

interface Hints {
  /** Removes something that cannot be brought back by the same caller. */
  destructive?: true
  /** Minds `If-Match`; elsewhere the header is refused rather than ignored. */
  versioned?: true
  /** Doing it twice is the same as doing it once. */
  idempotent?: true
  /** Asks somebody outside, such as a code host. */
  outside?: true
  /** Fields of the answer that are shown once: left out when an idempotent call is answered again. */
  secret?: readonly string[]
}

type Work<I, O> = (ctx: Ctx, input: I) => Promise<O>

const attach = <I, O>(run: Work<I, O>, id: string, kind: 'read' | 'write', rule: Rule, hints: Hints): Action<I, O> => {
  if (rule.scope) known.resources.add(rule.scope.split(':')[0] as string)
  return Object.defineProperties(run, {
    id: { value: id },
    kind: { value: kind },
    rule: { value: rule },
    hints: { value: hints },
  }) as Action<I, O>
}

export function read<I, O>(id: string, rule: Rule, work: Work<I, O>): Action<I, O> {
  const run: Work<I, O> = async (ctx, input) => {
    authorize(ctx.actor, rule, id, ctx.app.clock)
    return work(ctx, input)
  }
  return attach(run, id, 'read', rule, { idempotent: true })
}

export function write<I, O>(id: string, rule: Rule, work: Work<I, O>, hints: Hints = {}): Action<I, O> {
  const run: Work<I, O> = async (ctx, input) => {
    authorize(ctx.actor, rule, id, ctx.app.clock)
    if (ctx.unit) return work(ctx, input)
    for (let attempt = 1; ; attempt++) {
      try {
        return await inTransaction(ctx, id, hints, input, work)
      } catch (error) {
        if (attempt < 4 && error instanceof DbError && retryable.has(error.code)) continue
        throw error
      }
    }
  }
  return attach(run, id, 'write', rule, hints)
}

/**
 * A write that waits for something slow (a password hash, a code host) and so must not hold a transaction meanwhile. It changes state only
 * by calling writes. One idempotency key cannot stand for several of them, and what a sign-in answers must not be kept: so a flow has none,
 * but for the one write that it calls with `keyed`.
 */
export function flow<I, O>(
  id: string,
  rule: Rule,
  work: (ctx: Ctx, input: I, keyed: Ctx) => Promise<O>,
  hints: Hints = {},
): Action<I, O> {
  const run: Work<I, O> = async (ctx, input) => {
    authorize(ctx.actor, rule, id, ctx.app.clock)
    if (ctx.unit) throw new Error(`${id} cannot run inside the transaction of ${ctx.unit.action}`)
    return work({ ...ctx, idempotencyKey: undefined }, input, ctx)
  }
  return attach(run, id, 'write', rule, hints)
}

/** Two writers that got in each other's way: the loser starts over. */
const retryable = new Set(['40001', '40P01'])

async function inTransaction<I, O>(ctx: Ctx, action: string, hints: Hints, input: I, work: Work<I, O>): Promise<O> {
  const { app, actor } = ctx
  const tx = await app.driver.begin()
  const unit: Unit = { action, events: [], jobs: [] }
  const inner: Ctx = { ...ctx, db: drizzleTx(tx), unit }
  inner.emit = ({ name }, about) => void unit.events.push(eventOf(inner, action, name, about))
  inner.enqueue = (job) => void unit.jobs.push(job)
  try {
    const key =
      ctx.idempotencyKey !== undefined && actor.credentialId
        ? { credentialId: actor.credentialId, key: ctx.idempotencyKey }
        : undefined
    if (key) {
      // The same input for another organization, or based on another version, is another request.
      const request = { input, organizationId: actor.organizationId, expectedVersion: ctx.expectedVersion }
      const earlier = await claimKey(inner.db, key, action, request, ctx.now)
      if (earlier) {
        await tx.rollback()
        return earlier.answer as O
      }
    }
    const answer = await work(inner, input)
    // Every write leaves a trace, also one that has no event of its own.
    if (unit.events.length === 0) unit.events.push(eventOf(inner, action, action, { userId: actor.userId }))
    if (unit.jobs.length > 0) await app.jobs.insert(tx, unit.jobs)
    await tx.commit([...unit.events.map(insertEvent), ...(key ? [storeAnswer(key, answer, hints.secret)] : [])])
    app.bus.deliver(unit.events)
    if (unit.jobs.length > 0) app.jobs.wake(unit.jobs)
    return answer
  } catch (error) {
    await tx.rollback()
    throw error
  }
}

/** Whatever an administrator looks at while acting as somebody else leaves a trace too. */
export async function auditRead(ctx: Ctx, action: string): Promise<void> {
  const { text, params } = insertEvent(eventOf(ctx, action, action, { userId: ctx.actor.userId }))
  await ctx.app.driver.query(text, params)
}

function eventOf(ctx: Ctx, action: string, type: string, about: Place & { data?: Record<string, unknown> }): AppEvent {
  const { actor } = ctx
  const impersonatorId = actor.session?.impersonatorId
  return {
    id: newId(),
    at: ctx.now,
    type,
    action,
    actor: actor.agent
      ? { kind: 'agent', id: actor.agent.id, name: actor.agent.name }
      : { kind: actor.kind, id: actor.userId, name: actor.name },
    credentialId: actor.credentialId,
    organizationId: about.organizationId ?? null,
    projectId: about.projectId ?? null,
    userId: about.userId ?? null,
    subjectId: about.subjectId ?? null,
    data: impersonatorId ? { ...about.data, impersonatorId } : (about.data ?? {}),
    requestId: ctx.requestId,
    ip: ctx.ip,
    origin: ctx.app.instanceId,
  }
}

/** A call's context. Surfaces and tests make one; actions only pass it on. */
export function contextOf(
  app: App,
  actor: Actor,
  call: Partial<Pick<Ctx, 'requestId' | 'userAgent' | 'idempotencyKey' | 'expectedVersion' | 'signal'>> & {
    from?: { readonly ip: string | null }
  } = {},
): Ctx {
  const outside = (what: string) => () => {
    throw new Error(`${what} outside a write`)
  }
  return {
    app,
    actor,
    db: app.db,
    now: app.clock().toISOString(),
    requestId: call.requestId ?? newId(),
    get ip() {
      return call.from?.ip ?? null
    },
    userAgent: call.userAgent ?? null,
    idempotencyKey: call.idempotencyKey,
    expectedVersion: call.expectedVersion,
    signal: call.signal,
    emit: outside('emit'),
    enqueue: outside('enqueue'),
  }
}

/** Optimistic locking, for callers that say what their change is based on. */
export function checkVersion({ expectedVersion }: Ctx, current: { version: number }): void {
  if (expectedVersion !== undefined && expectedVersion !== current.version)
    throw new AppError(
      'version_mismatch',
      `It is at version ${current.version} now, not ${expectedVersion}. Read it again and repeat your change.`,
      {
        current,
      },
    )
}
