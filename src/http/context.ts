import { Elysia } from 'elysia'
import { type Action, auditRead, type Ctx, contextOf } from '../action.ts'
import { type Actor, anonymous, inOrganization, userIdOf } from '../auth/actor.ts'
import { networkOf } from '../auth/limits.ts'
import { authorize } from '../auth/policy.ts'
import { AppError } from '../errors.ts'
import { object } from '../schema.ts'
import type { App } from '../services.ts'
import { readJson } from './body.ts'
import type { Guard } from './guard.ts'
import { callReceived } from './hooks.ts'

/** What hooks see of a request; `ctx` is filled by `admit` before any handler or validation runs. */
interface Call {
  request: Request
  guard: Guard
  app: App
  ctx: Ctx
}

/** Creates a router for one feature's routes. Handlers get `ctx` and pass it to an action, and do nothing else. */
export const http = (app: App, guard: Guard) =>
  new Elysia()
    .decorate('app', app)
    .decorate('guard', guard)
    // Only the type: `admit` fills it in for each request.
    .decorate('ctx', undefined as unknown as Ctx)
export type Http = ReturnType<typeof http>

interface Options {
  /** Bytes. Default: the configured JSON limit. */
  maxBody?: number
  /** Takes a form with one file of at most this many bytes, and no JSON. */
  upload?: number
  /** Documented statuses beyond the usual ones: a redirect, a provider that failed. */
  answers?: number[]
}

/** A route that declares no query takes none: unknown parameters are refused, like unknown fields. */
const nothing = object({})

type AnyAction = Pick<Action<never, unknown>, 'id' | 'kind' | 'rule' | 'hints'>

/**
 * Declares a route: `...on(notes.get, 'Get one note')`. Sets its operationId and refuses early, in the order 401 → 403
 * → body → 422, so that a stranger learns nothing from validation and no body is read before its sender may send it.
 */
export const on = (action: AnyAction, summary: string, { maxBody, upload, answers }: Options = {}) => ({
  parse: [
    async (call: unknown) => {
      const c = call as Call
      await admit(c, action)
      const body =
        upload === undefined
          ? await readJson(c.request, maxBody ?? c.app.config.MAX_BODY_BYTES)
          : await c.guard.uploads.read(c.request, userIdOf(c.ctx.actor), upload)
      // Sending the body may have taken half a minute, and the caller may have lost the right meanwhile.
      enter(c, action, await identify(c, action))
      return body
    },
  ],
  transform: [
    // Must be written as `async`: Elysia inspects the source to decide whether to await it.
    async (call: unknown) => {
      if (!(call as Call).ctx) await admit(call as Call, action)
    },
  ],
  query: nothing,
  detail: {
    operationId: action.id,
    summary,
    tags: [action.id.split('.')[0] as string],
    action,
    answers,
    upload,
    maxBody,
  } as Record<string, unknown>,
})

async function admit(c: Call, action: AnyAction): Promise<void> {
  const { request, guard } = c
  const known = await identify(c, action)
  const wait = known.credentialId
    ? guard.perCredential.take(known.credentialId)
    : guard.perNetwork.take(networkOf(guard.seen(request).ip))
  if (wait > 0) throw guard.limited(known.credentialId ? guard.perCredential : guard.perNetwork, wait)
  enter(c, action, known)
  await callReceived.call(c.ctx, {})
  if (c.ctx.actor.session?.impersonatorId && action.kind === 'read') await auditRead(c.ctx, action.id)
}

/** Checks the caller's current rights and sets the current time. */
function enter(c: Call, action: AnyAction, known: Actor): void {
  const { request, app, guard } = c
  const { headers } = request
  const seen = guard.seen(request)
  const organization = headers.get('x-organization-id')
  const actor = organization === null ? known : inOrganization(known, organization)
  authorize(actor, action.rule, action.id, app.clock)
  c.ctx = contextOf(app, actor, {
    requestId: seen.requestId,
    from: seen,
    userAgent: headers.get('user-agent'),
    idempotencyKey: idempotencyKey(headers.get('idempotency-key')),
    expectedVersion: versionOf(headers.get('if-match'), action),
  })
}

/**
 * A stale cookie or token must not keep anybody from signing in: where anyone may call, a bad credential counts as
 * none.
 */
async function identify({ request, app, guard }: Call, action: AnyAction): Promise<Actor> {
  const secret = guard.credential(request)
  if (!secret) return anonymous
  const seen = guard.seen(request)
  const open = action.rule.kinds.includes('anonymous')
  try {
    const actor = await app.auth.authenticate(secret, seen)
    if (actor.kind !== 'mcp_token') return actor
    if (!open) throw new AppError('forbidden', 'An MCP token works on /mcp only. Use an API key here.')
    return anonymous
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unauthenticated') throw error
    if (open) return anonymous
    // A wrong credential counts against its network; otherwise guessing would be free.
    const wait = guard.perNetwork.take(networkOf(seen.ip))
    throw wait > 0 ? guard.limited(guard.perNetwork, wait) : error
  }
}

function idempotencyKey(value: string | null): string | undefined {
  if (value === null) return undefined
  if (!/^[\x21-\x7e]{1,200}$/.test(value))
    throw new AppError('invalid.malformed', 'Idempotency-Key must be 1 to 200 printable ASCII characters.')
  return value
}

function versionOf(value: string | null, { id, hints }: AnyAction): number | undefined {
  if (value === null || value === '*') return undefined
  if (!hints.versioned) throw new AppError('invalid.malformed', `${id} takes no If-Match.`)
  const version = /^(?:W\/)?"?(\d{1,9})"?$/.exec(value)?.[1]
  if (!version) throw new AppError('invalid.malformed', 'If-Match must be a version in quotes, such as "3".')
  return Number(version)
}

/** Returns 201 with the address of the new record. */
export function created<T extends { id: string }>(
  set: { status?: number | string; headers: Record<string, unknown> },
  path: string,
  record: T,
): T {
  set.status = 201
  set.headers.location = `${path}/${record.id}`
  return record
}

/** Returns 302 without a body, so it fits any route. */
export function redirected(
  set: { status?: number | string; headers: Record<string, unknown> },
  location: string,
): never {
  set.status = 302
  set.headers.location = location
  return undefined as never
}
