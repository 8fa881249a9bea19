import { Elysia } from 'elysia'
import { type Action, auditRead, type Ctx, contextOf } from '../action.ts'
import { type Actor, anonymous, switchOrganization, userIdOf } from '../auth/actor.ts'
import { networkOf } from '../auth/limits.ts'
import { authorize } from '../auth/policy.ts'
import { redeemTicket } from '../auth/tickets.ts'
import { AppError } from '../errors.ts'
import { object } from '../schema.ts'
import type { App } from '../services.ts'
import { readJson } from './body.ts'
import { respondWithEtag } from './etag.ts'
import type { Guard } from './guard.ts'
import { callReceived } from './hooks.ts'

interface Call {
  request: Request
  guard: Guard
  app: App
}

/** The contexts of requests with a body, which a hook before the last one has admitted. */
const admitted = new WeakMap<Request, Ctx>()

type Nothing = Record<never, never>

/**
 * What handlers and hooks receive besides the request. The server adds `app` and `guard` once, and a hook of `on` adds
 * `ctx` to each request: Elysia would merge decorators of routers key by key whenever a router is added.
 */
interface Provided {
  decorator: { app: App; guard: Guard; ctx: Ctx }
  store: Nothing
  derive: Nothing
  resolve: Nothing
}

/** Creates a router for one feature's routes. Handlers get `ctx` and pass it to an action, and do nothing else. */
export const http = () => new Elysia<'', Provided>()
export type Http = ReturnType<typeof http>

interface Options {
  /** Bytes. Default: the configured JSON limit. */
  maxBody?: number
  /** Takes a form with one file of at most this many bytes, and no JSON. */
  upload?: number
  /** The credential may also be in the address: `?ticket=`, or `?token=` for clients that know no other way. */
  inAddress?: true
  /** The action is stopped when its caller disconnects: `ctx.signal` fires. */
  stoppable?: true
  /** Documented statuses beyond the usual ones: a redirect, a provider that failed. */
  answers?: number[]
}

/** A route without a query schema refuses all parameters, like unknown fields. */
const nothing = object({})

type AnyAction = Pick<Action<never, unknown>, 'id' | 'kind' | 'rule' | 'hints'>

/**
 * Declares a route: `...on(notes.get, 'Get one note')`. Sets its operationId and refuses in the order 401 → 403 → body
 * → 422, so that validation reveals nothing to strangers and no body is read before its sender is authorised.
 */
export const on = (
  action: AnyAction,
  summary: string,
  { maxBody, upload, answers, inAddress, stoppable }: Options = {},
) => ({
  // Both hooks destructure their arguments, because Elysia inspects their source: otherwise it would parse cookies and
  // copy all headers for every request. It also decides this way whether to await them.
  parse: [
    async ({ request, guard, app }: Call) => {
      const call = { request, guard, app }
      const { actor } = await admit(call, action)
      const body =
        upload === undefined
          ? await readJson(request, maxBody ?? app.config.MAX_BODY_BYTES)
          : await guard.uploads.read(request, userIdOf(actor), upload)
      // Sending the body may have taken half a minute, and the caller may have lost the right meanwhile.
      const ctx = enter(call, action, await identify(call, action))
      admitted.set(request, stoppable ? { ...ctx, signal: request.signal } : ctx)
      return body
    },
  ],
  transform: [
    // Elysia adds what it returns to its context, but its types do not know that.
    async ({ request, guard, app }: Call) =>
      ({ ctx: admitted.get(request) ?? (await admit({ request, guard, app }, action, inAddress)) }) as never,
  ],
  ...(action.kind === 'read' && { mapResponse: [respondWithEtag] as never }),
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

async function admit(c: Call, action: AnyAction, inAddress?: true): Promise<Ctx> {
  const { request, guard } = c
  const known = await identify(c, action, inAddress)
  const wait = known.credentialId
    ? guard.perCredential.take(known.credentialId)
    : guard.perNetwork.take(networkOf(guard.seen(request).ip))
  if (wait > 0) throw guard.limitError(known.credentialId ? guard.perCredential : guard.perNetwork, wait)
  const ctx = enter(c, action, known)
  await callReceived.call(ctx, {})
  if (ctx.actor.session?.impersonatorId && action.kind === 'read') await auditRead(ctx, action.id)
  return ctx
}

/** Checks the caller's current rights and returns a context with the current time. */
function enter({ request, app, guard }: Call, action: AnyAction, known: Actor): Ctx {
  const { headers } = request
  const seen = guard.seen(request)
  const organization = headers.get('x-organization-id')
  const actor = organization === null ? known : switchOrganization(known, organization)
  authorize(actor, action.rule, action.id, app.clock)
  return contextOf(app, actor, {
    requestId: seen.requestId,
    from: seen,
    userAgent: headers.get('user-agent'),
    idempotencyKey: idempotencyKey(headers.get('idempotency-key')),
    expectedVersion: versionOf(headers.get('if-match'), action),
    changeId: changeIdOf(headers.get('x-change-key'), actor),
  })
}

/** Returns the team that a request names in X-Organization-Id, for lists that otherwise cover all teams. */
export const requestedTeam = ({ headers }: Request): { organizationId?: string } => {
  const organizationId = headers.get('x-organization-id')
  return organizationId === null ? {} : { organizationId }
}

/**
 * A stale cookie or token must not prevent a sign-in: on routes that are open to anyone, an invalid credential counts
 * as none.
 */
async function identify({ request, app, guard }: Call, action: AnyAction, inAddress?: true): Promise<Actor> {
  const { ticket, token } = inAddress && !request.headers.has('authorization') ? addressCredentials(request) : {}
  const secret = ticket ?? token ?? guard.credential(request)
  if (!secret) return anonymous
  const seen = guard.seen(request)
  const open = action.rule.kinds.includes('anonymous')
  try {
    const actor = ticket
      ? await redeemTicket(app, ticket)
      : (app.auth.cachedActor(secret, seen) ?? (await app.auth.authenticate(secret, seen)))
    const where = action.rule.kinds.includes('tunnel') ? undefined : elsewhere[actor.kind]
    if (where === undefined) return actor
    if (!open) throw new AppError('forbidden', where)
    return anonymous
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unauthenticated') throw error
    if (open) return anonymous
    // A wrong credential counts against its network; otherwise guessing would be free.
    const wait = guard.perNetwork.take(networkOf(seen.ip))
    throw wait > 0 ? guard.limitError(guard.perNetwork, wait) : error
  }
}

/** Credentials that are not for the web API. Routes that are open to anyone ignore them. */
const elsewhere: Partial<Record<Actor['kind'], string>> = {
  mcp_token: 'An MCP token works on /mcp only. Use an API key here.',
  tunnel: 'The credential of a tunnel works for its machine only. Use an API key here.',
}

/** Returns the credentials in the address of a request. */
function addressCredentials({ url }: Request): { ticket?: string; token?: string } {
  const query = URL.parse(url)?.searchParams
  return { ticket: query?.get('ticket') || undefined, token: query?.get('token') || undefined }
}

function idempotencyKey(value: string | null): string | undefined {
  if (value === null) return undefined
  if (!/^[\x21-\x7e]{1,200}$/.test(value))
    throw new AppError('invalid.malformed', 'Idempotency-Key must be 1 to 200 printable ASCII characters.')
  return value
}

/**
 * Calls with the same X-Change-Key are one change, which is undone as a whole. The credential is part of the id, so
 * that no one can add to the change of someone else.
 */
function changeIdOf(value: string | null, { credentialId }: Actor): string | undefined {
  if (value === null || credentialId === null) return undefined
  if (!/^[\x21-\x7e]{1,200}$/.test(value))
    throw new AppError('invalid.malformed', 'X-Change-Key must be 1 to 200 printable ASCII characters.')
  const hash = new Bun.CryptoHasher('sha256').update(`${credentialId}\n${value}`).digest('hex')
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
}

function versionOf(value: string | null, { id, hints }: AnyAction): number | undefined {
  if (value === null || value === '*') return undefined
  if (!hints.versioned) throw new AppError('invalid.malformed', `${id} does not accept If-Match.`)
  // Behind the dot is the hash of an ETag, which also changes with what belongs to other records.
  const version = /^(?:W\/)?"?(\d{1,9})"?$/.exec(value.replace(/\.[0-9a-z]{1,13}"$/, '"'))?.[1]
  if (!version)
    throw new AppError('invalid.malformed', 'If-Match must be a version in quotes, such as "3", or an ETag.')
  return Number(version)
}

/** Returns 201 with the address of the new record. */
export function respondCreated<T extends { id: string }>(
  set: { status?: number | string; headers: Record<string, unknown> },
  path: string,
  record: T,
): T {
  set.status = 201
  set.headers.location = `${path}/${record.id}`
  return record
}

/** Names the change in the response if the call recorded one: `POST /api/changes/:id/undo` undoes it. */
export function undoable<T>({ change }: Ctx, { headers }: { headers: Record<string, unknown> }, result: T): T {
  if (change?.recorded) headers['x-change-id'] = change.id
  return result
}

/** Returns a stream in place of the documented JSON. Typed as `never`, so that it fits any route. */
export const asStream = (stream: object): never => stream as never

/** Returns 302 without a body. Typed as `never`, so that it fits any route. */
export function redirectTo(
  set: { status?: number | string; headers: Record<string, unknown> },
  location: string,
): never {
  set.status = 302
  set.headers.location = location
  return undefined as never
}
