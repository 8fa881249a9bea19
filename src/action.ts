import type { Actor } from './auth/actor.ts'
import { requireWithinLimit } from './auth/limit.ts'
import { authorize, type Rule } from './auth/policy.ts'
import { newId } from './db/columns.ts'
import { DbError } from './db/driver.ts'
import { deferStatement, drizzleTx } from './db/session.ts'
import { AppError } from './errors.ts'
import { toEventActor } from './events/actor.ts'
import type { EventSubject } from './events/emit.ts'
import { type AppEvent, insertEvent } from './events/event.ts'
import { claimIdempotencyKey, storeIdempotentResult } from './events/idempotency.ts'
import type { App, Ctx } from './services.ts'

export type { Ctx }

export interface Action<I, O> {
  (ctx: Ctx, input: I): Promise<O>
  readonly id: string
  readonly kind: 'read' | 'write'
  readonly rule: Rule
  readonly hints: Hints
}

interface Hints {
  /** Removes something that the same caller cannot restore. */
  destructive?: true
  /** Checks `If-Match`. Actions without this hint refuse the header instead of ignoring it. */
  versioned?: true
  /** Calling it twice has the same effect as calling it once. */
  idempotent?: true
  /** Its changes of tasks can be undone: the response names them in `X-Change-Id`. */
  undoable?: true
  /** Calls an outside service, such as a code host. */
  outside?: true
  /** It may read a standby, whose data is a few seconds old (`db/reads.ts` decides). */
  replica?: true
  /** Fields of the result that are shown only once: a repeated call with the same idempotency key does not get them. */
  secret?: readonly string[]
  /**
   * Writes internal data of the server (the search index, sums, tickets of connections), so it leaves no row in
   * `events` if it emits none. Rows stay for a year, and no one looks for these among the actions of people.
   */
  bookkeeping?: true
}

type Work<I, O> = (ctx: Ctx, input: I) => Promise<O>

const attach = <I, O>(run: Work<I, O>, id: string, kind: 'read' | 'write', rule: Rule, hints: Hints): Action<I, O> =>
  Object.defineProperties(run, {
    id: { value: id },
    kind: { value: kind },
    rule: { value: rule },
    hints: { value: hints },
  }) as Action<I, O>

export function read<I, O>(
  id: string,
  rule: Rule,
  work: Work<I, O>,
  { replica }: Pick<Hints, 'replica'> = {},
): Action<I, O> {
  const run: Work<I, O> = async (ctx, input) => {
    authorize(ctx.actor, rule, id, ctx.app.clock)
    if (!replica || ctx.unit) return work(ctx, input)
    return work({ ...ctx, db: ctx.app.reads.dbFor(ctx.actor.credentialId) }, input)
  }
  return attach(run, id, 'read', rule, { idempotent: true, ...(replica && { replica }) })
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
 * A write that waits for something slow (a password hash, a code host) and must not hold a transaction meanwhile. It
 * changes state only by calling writes. A flow ignores the idempotency key, because one key cannot identify several
 * writes and the result of a sign-in must not be stored. `keyed` is the context for the one write that may use the key.
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

/**
 * Runs a part of a write that may be refused. If it throws an AppError, only what this part did is undone, and the
 * write can continue. After any other error the transaction ends.
 */
export async function attempt<T>({ db, unit, change }: Ctx, work: () => Promise<T>): Promise<T> {
  if (!unit) throw new Error('attempt outside a write')
  const { events, jobs } = unit
  const before = { events: events.length, jobs: jobs.length, recorded: change?.recorded === true }
  deferStatement(db, 'savepoint attempt')
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    deferStatement(db, 'rollback to savepoint attempt')
    events.length = before.events
    jobs.length = before.jobs
    if (change) change.recorded = before.recorded
    throw error
  } finally {
    deferStatement(db, 'release savepoint attempt')
  }
}

/** Serialization failure and deadlock: the transaction that lost starts again. */
const retryable = new Set(['40001', '40P01'])

async function inTransaction<I, O>(ctx: Ctx, action: string, hints: Hints, input: I, work: Work<I, O>): Promise<O> {
  const { app, actor } = ctx
  const tx = await app.driver.begin()
  const unit: NonNullable<Ctx['unit']> = { action, events: [], jobs: [] }
  const inner: Ctx = { ...ctx, db: drizzleTx(tx), unit }
  inner.emit = ({ name }, about) => void unit.events.push(eventOf(inner, action, name, about))
  inner.enqueue = (job) => void unit.jobs.push(job)
  try {
    const key =
      ctx.idempotencyKey !== undefined && actor.credentialId
        ? { credentialId: actor.credentialId, key: ctx.idempotencyKey }
        : undefined
    if (key) {
      // The organization and the expected version are part of the request: with others it is a different request.
      const request = { input, organizationId: actor.organizationId, expectedVersion: ctx.expectedVersion }
      const earlier = await claimIdempotencyKey(inner.db, key, action, request, ctx.now)
      if (earlier) {
        await tx.rollback()
        return earlier.result as O
      }
    }
    const result = await work(inner, input)
    // Every write is audited, even one that emits no event, and whatever an administrator does as someone else.
    if (unit.events.length === 0 && (!hints.bookkeeping || actor.session?.impersonatorId))
      unit.events.push(eventOf(inner, action, action, { userId: actor.userId }))
    requireEventsWithinLimit(inner, unit)
    const events = unit.events.filter(isRecorded)
    if (unit.jobs.length > 0) await app.jobs.insert(tx, unit.jobs)
    await tx.commit([
      ...events.map((event) => insertEvent(event, ctx.connection)),
      ...(key ? [storeIdempotentResult(key, result, hints.secret)] : []),
    ])
    app.bus.deliver(events)
    if (unit.jobs.length > 0) app.jobs.wake(unit.jobs)
    return result
  } catch (error) {
    await tx.rollback()
    throw error
  }
}

/**
 * The last check of a credential that is limited to projects: whatever it changed is named by an event, and an event
 * about another project, or about a team's record without one, takes the change back. Rules and queries refuse before.
 */
function requireEventsWithinLimit({ app, actor }: Ctx, { action, events }: NonNullable<Ctx['unit']>): void {
  if (!actor.projects) return
  for (const { type, organizationId, projectId } of events)
    if ((organizationId !== null || projectId !== null) && !app.events.get(type)?.follows)
      requireWithinLimit(actor, projectId, action)
}

/**
 * A call without a credential is recorded only if it concerns an account or a team: anyone can repeat it as often as
 * they like, and every row is kept for a year.
 */
const isRecorded = ({ actor, userId, organizationId }: AppEvent): boolean =>
  actor.kind !== 'anonymous' || userId !== null || organizationId !== null

/** Audits what is not a write: what an administrator reads while acting as someone else, or a backup. */
export async function auditRead(ctx: Ctx, action: string): Promise<void> {
  const { text, params } = insertEvent(eventOf(ctx, action, action, { userId: ctx.actor.userId }), ctx.connection)
  await ctx.app.driver.query(text, params)
}

function eventOf(
  ctx: Ctx,
  action: string,
  type: string,
  about: EventSubject & { data?: Record<string, unknown> },
): AppEvent {
  const { actor } = ctx
  const impersonatorId = actor.session?.impersonatorId
  return {
    id: newId(),
    at: ctx.now,
    type,
    action,
    actor: toEventActor(actor),
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

/** Creates the context of a call. Surfaces, jobs and tests do this; actions only pass it on. */
export function contextOf(
  app: App,
  actor: Actor,
  call: Partial<
    Pick<Ctx, 'requestId' | 'userAgent' | 'connection' | 'idempotencyKey' | 'expectedVersion' | 'signal'>
  > & {
    from?: { readonly ip: string | null }
    /** Default: every call is a change of its own. */
    changeId?: string
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
    connection: call.connection,
    idempotencyKey: call.idempotencyKey,
    expectedVersion: call.expectedVersion,
    change: { id: call.changeId ?? newId(), recorded: false },
    signal: call.signal,
    emit: outside('emit'),
    enqueue: outside('enqueue'),
  }
}

/** Returns the context of a write that adds `via` to its events: `via: assistant`. */
export const withVia = (ctx: Ctx, via: string): Ctx => ({
  ...ctx,
  emit: (event, about) => ctx.emit(event, { ...about, data: { ...about.data, via } as never }),
})

/** Optimistic locking, for callers that send the version which their change is based on. */
export function checkVersion({ expectedVersion }: Ctx, current: { version: number }): void {
  if (expectedVersion !== undefined && expectedVersion !== current.version)
    throw new AppError(
      'version_mismatch',
      `The record is now at version ${current.version}, not ${expectedVersion}. Read it again and repeat your change.`,
      {
        current,
      },
    )
}
