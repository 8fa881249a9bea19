import type { Ctx } from '../../action.ts'
import { mcpUrlOf } from '../../address.ts'
import { type Client, findClient, OAuthError } from './clients.ts'
import { isRegistered, redirectProblem } from './redirects.ts'

/** A checked authorization request. */
export interface Asked {
  client: Client
  redirectUri: string
  state: string | null
  challenge: string
  scopes: string[]
}

/** A refused request of a known program with a registered address. */
export class RefusedRequest extends Error {
  constructor(
    readonly from: Pick<Asked, 'client' | 'redirectUri' | 'state'>,
    readonly code: string,
    description: string,
  ) {
    super(description)
  }
}

/** Returns the value of a parameter, or null. RFC 6749 forbids repeated parameters. */
export function single(from: URLSearchParams, name: string): string | null {
  const values = from.getAll(name)
  if (values.length > 1) throw new OAuthError('invalid_request', `${name} was sent twice.`)
  return values[0] || null
}

export function needed(from: URLSearchParams, name: string): string {
  const value = single(from, name)
  if (value === null) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}

/** Tokens are valid for the MCP endpoint only. Some programs send no resource. */
export const isOurs = (resource: string | null, base: string): boolean =>
  resource === null || resource.replace(/\/$/, '') === mcpUrlOf(base)

const isScope = ({ app: { grantable } }: Ctx, scope: string): boolean =>
  /^([a-z-]+:)?(read|write)$/.test(scope) &&
  (!scope.includes(':') || grantable.resources.has(scope.split(':')[0] as string))

/** Returns the known ones of the requested scopes. Default: `write`. */
function scopesOf(ctx: Ctx, text: string | null): string[] {
  const asked = (text ?? '').split(' ').filter(Boolean)
  const wanted = asked.length === 0 ? ['write'] : [...new Set(asked.filter((scope) => isScope(ctx, scope)))]
  // `write` includes `read`.
  return wanted.includes('write') ? ['write'] : wanted
}

/**
 * Checks a request to authorize a program. Throws OAuthError if the program or its address is not certain, so that the
 * user is not redirected. Throws RefusedRequest for other mistakes.
 */
export async function checkRequest(ctx: Ctx, base: string, query: URLSearchParams): Promise<Asked> {
  const client = await findClient(ctx, needed(query, 'client_id'))
  if (!client)
    throw new OAuthError('invalid_client', 'The program that sent you to this page is not registered on this server.')
  const only = client.redirectUris.length === 1 ? (client.redirectUris[0] as string) : undefined
  const redirectUri = single(query, 'redirect_uri') ?? only
  if (redirectUri === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing.')
  // A program may have registered before this rule.
  const problem = redirectProblem(redirectUri)
  if (problem) throw new OAuthError('invalid_request', `The redirect_uri of the program ${problem}.`)
  if (!isRegistered(client.redirectUris, redirectUri))
    throw new OAuthError('invalid_request', 'The program did not register the redirect_uri of this request.')
  const state = single(query, 'state')
  const from = { client, redirectUri, state }
  const refuse = (code: string, description: string) => new RefusedRequest(from, code, description)
  try {
    if (single(query, 'response_type') !== 'code')
      throw refuse('unsupported_response_type', 'response_type must be code.')
    const challenge = single(query, 'code_challenge')
    if (single(query, 'code_challenge_method') !== 'S256' || !challenge || !/^[\w-]{43}$/.test(challenge))
      throw refuse('invalid_request', 'PKCE is required, with code_challenge_method=S256.')
    if (!query.getAll('resource').every((resource) => isOurs(resource, base)))
      throw refuse('invalid_target', `Tokens are valid only for ${mcpUrlOf(base)}.`)
    const scopes = scopesOf(ctx, single(query, 'scope'))
    if (scopes.length === 0) throw refuse('invalid_scope', 'Request the scope read or write.')
    return { ...from, challenge, scopes }
  } catch (error) {
    if (error instanceof OAuthError) throw refuse(error.code, error.message)
    throw error
  }
}

/** Returns the callback address of the program. `iss` tells it which server answered (RFC 9207). */
export function backTo(
  { redirectUri, state }: Pick<Asked, 'redirectUri' | 'state'>,
  base: string,
  answer: Record<string, string>,
): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries({ ...answer, ...(state !== null && { state }), iss: mcpUrlOf(base) }))
    url.searchParams.append(name, value)
  return url.href
}
