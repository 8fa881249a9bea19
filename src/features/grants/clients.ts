import { eq } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { countAttempt, networkOf } from '../../auth/limits.ts'
import { anyone } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { AppError } from '../../errors.ts'
import { oneLine } from '../mail/message.ts'
import { redirectProblem } from './redirects.ts'
import { type ClientKind, oauthClients } from './table.ts'

export interface Client {
  id: string
  kind: ClientKind
  name: string
  redirectUris: string[]
}

/** An error of RFC 6749 or RFC 7591. */
export class OAuthError extends Error {
  constructor(
    readonly code: string,
    description: string,
    readonly status = 400,
    readonly retryAfter?: number,
  ) {
    super(description)
  }
}

const NAME_LENGTH = 100
const MOST_REDIRECTS = 50
/** Limit of all rows: anyone may register a program. */
const MOST_CLIENTS = 10_000
const HOUR = 3600
const PER_HOUR = { registrations: 20, documents: 60 }

const clientColumns = {
  id: oauthClients.id,
  kind: oauthClients.kind,
  name: oauthClients.name,
  redirectUris: oauthClients.redirectUris,
}

/** Checks the metadata of a program, from its registration or its published document. */
function parseMetadata(from: unknown): { name: string; redirectUris: string[] } {
  if (typeof from !== 'object' || from === null || Array.isArray(from))
    throw new OAuthError('invalid_client_metadata', 'Send a JSON object.')
  const { client_name: name, redirect_uris: uris } = from as Record<string, unknown>
  if (name !== undefined && typeof name !== 'string')
    throw new OAuthError('invalid_client_metadata', 'client_name must be a string.')
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MOST_REDIRECTS)
    throw new OAuthError('invalid_redirect_uri', `redirect_uris must be a list of 1 to ${MOST_REDIRECTS} addresses.`)
  for (const uri of uris) {
    const problem = typeof uri === 'string' ? redirectProblem(uri) : 'is not a string'
    if (problem) throw new OAuthError('invalid_redirect_uri', `${oneLine(String(uri), 200)} ${problem}.`)
  }
  return { name: oneLine(name ?? '', NAME_LENGTH) || 'Unnamed program', redirectUris: uris as string[] }
}

async function countPerHour(ctx: Ctx, what: keyof typeof PER_HOUR): Promise<void> {
  const { app } = ctx
  const key = `oauth-${what}:${networkOf(ctx.ip)}`
  try {
    await countAttempt(app.driver, key, PER_HOUR[what], HOUR, app.clock(), `${what} of programs`)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'rate_limited') throw error
    throw new OAuthError('temporarily_unavailable', error.message, 429, error.details.retryAfter)
  }
}

const storeClient = write(
  'grants.putClient',
  anyone,
  async (ctx, made: Client & { freshUntil: string | null }): Promise<Client> => {
    const room = (await ctx.db.$count(oauthClients)) < MOST_CLIENTS
    const [known] = room
      ? []
      : await ctx.db.select(clientColumns).from(oauthClients).where(eq(oauthClients.id, made.id))
    if (!room && !known)
      throw new OAuthError(
        'temporarily_unavailable',
        'Too many programs are registered on this server. Try again later.',
        429,
      )
    const { name, redirectUris, freshUntil } = made
    await ctx.db
      .insert(oauthClients)
      .values({ ...made, createdAt: ctx.now })
      .onConflictDoUpdate({ target: oauthClients.id, set: { name, redirectUris, freshUntil } })
    return made
  },
)

/** Registers a program (RFC 7591). It gets no secret, because it cannot keep one safe. */
export const register = flow('grants.register', anyone, async (ctx, { from }: { from: unknown }): Promise<Client> => {
  const { name, redirectUris } = parseMetadata(from)
  await countPerHour(ctx, 'registrations')
  return storeClient(ctx, { id: newId(), kind: 'registered', name, redirectUris, freshUntil: null })
})

/** Returns the program with this id, or undefined. The id may be the address of a document, which is read then. */
export async function findClient(ctx: Ctx, id: string): Promise<Client | undefined> {
  const [known] = await ctx.db
    .select({ ...clientColumns, freshUntil: oauthClients.freshUntil })
    .from(oauthClients)
    .where(eq(oauthClients.id, id))
  if (known && (known.freshUntil === null || known.freshUntil > ctx.now)) return known
  return isDocument(ctx, id) ? readDocument(ctx, { id }) : undefined
}

// ---- documents that programs publish about themselves

/** Without outbound requests, the server cannot read documents. */
export const readsDocuments = ({ app }: Pick<Ctx, 'app'>): boolean => app.config.OUTBOUND !== 'off'

const TIMEOUT_MS = 5000
const MOST_BYTES = 32 << 10
const FRESH_SECONDS = { least: 300, most: 86_400 }

function isDocument(ctx: Ctx, id: string): boolean {
  const url = readsDocuments(ctx) && id.length <= 2000 ? URL.parse(id) : null
  return (
    url?.protocol === 'https:' &&
    url.href === id &&
    url.pathname !== '/' &&
    !id.includes('#') &&
    !url.username &&
    !url.password
  )
}

/** Returns how long the headers allow to keep a document, within our own limits. */
function freshFor(headers: Record<string, string | string[] | undefined>): number {
  const said = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(String(headers['cache-control'] ?? ''))?.[1]
  return Math.min(FRESH_SECONDS.most, Math.max(FRESH_SECONDS.least, Number(said ?? 0)))
}

const readDocument = flow('grants.readDocument', anyone, async (ctx, { id }: { id: string }): Promise<Client> => {
  await countPerHour(ctx, 'documents')
  const { app } = ctx
  const host = new URL(id).host
  const unusable = (why: string) => new OAuthError('invalid_client', `The document of the program at ${host} ${why}.`)
  const answer = await app.outbound
    .send(id, {
      headers: { accept: 'application/json' },
      redirects: 0,
      mostBytes: MOST_BYTES,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    .catch(() => {
      throw unusable(
        'cannot be read. If this server has no Internet access, set OUTBOUND=off: programs then register themselves',
      )
    })
  if (answer.status !== 200) throw unusable(`returned the status ${answer.status}`)
  let document: Record<string, unknown>
  try {
    document = JSON.parse(answer.body.toString()) as Record<string, unknown>
  } catch {
    throw unusable('is not JSON')
  }
  if (document?.client_id !== id) throw unusable('names another client_id')
  const method = document.token_endpoint_auth_method
  if (method !== undefined && method !== 'none')
    throw unusable('requires a client authentication that this server does not support')
  const { name, redirectUris } = parseMetadata(document)
  const freshUntil = new Date(Date.parse(ctx.now) + freshFor(answer.headers) * 1000).toISOString()
  return storeClient(ctx, { id, kind: 'document', name, redirectUris, freshUntil })
})
