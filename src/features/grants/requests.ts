import type { Ctx } from '../../action.ts'
import { mcpUrl } from '../../address.ts'
import { type Client, findClient, OAuthError } from './clients.ts'
import { isRegisteredRedirect, redirectProblem } from './redirects.ts'

/** A checked authorization request. */
export interface GrantRequestData {
  client: Client
  redirectUri: string
  state: string | null
  challenge: string
  scopes: string[]
}

/** A refused request of a known program with a registered address. */
export class RefusedRequest extends Error {
  constructor(
    readonly from: Pick<GrantRequestData, 'client' | 'redirectUri' | 'state'>,
    readonly code: string,
    description: string,
  ) {
    super(description)
  }
}

/** Returns the value of a parameter, or null. RFC 6749 forbids repeated parameters. */
export function singleParam(from: URLSearchParams, name: string): string | null {
  const values = from.getAll(name)
  if (values.length > 1) throw new OAuthError('invalid_request', `${name} was sent twice.`)
  return values[0] || null
}

export function requiredParam(from: URLSearchParams, name: string): string {
  const value = singleParam(from, name)
  if (value === null) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}

/** Tokens are valid for the MCP endpoint only. Some programs send no resource. */
export const isMcpResource = (resource: string | null, base: string): boolean =>
  resource === null || resource.replace(/\/$/, '') === mcpUrl(base)

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
export async function checkRequest(ctx: Ctx, base: string, query: URLSearchParams): Promise<GrantRequestData> {
  const client = await findClient(ctx, requiredParam(query, 'client_id'))
  if (!client)
    throw new OAuthError('invalid_client', 'The program that sent you to this page is not registered on this server.')
  const only = client.redirectUris.length === 1 ? (client.redirectUris[0] as string) : undefined
  const redirectUri = singleParam(query, 'redirect_uri') ?? only
  if (redirectUri === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing.')
  // A program may have registered before this rule.
  const problem = redirectProblem(redirectUri)
  if (problem) throw new OAuthError('invalid_request', `The redirect_uri of the program ${problem}.`)
  if (!isRegisteredRedirect(client.redirectUris, redirectUri))
    throw new OAuthError('invalid_request', 'The program did not register the redirect_uri of this request.')
  const state = singleParam(query, 'state')
  const from = { client, redirectUri, state }
  const refuse = (code: string, description: string) => new RefusedRequest(from, code, description)
  try {
    if (singleParam(query, 'response_type') !== 'code')
      throw refuse('unsupported_response_type', 'response_type must be code.')
    const challenge = singleParam(query, 'code_challenge')
    if (singleParam(query, 'code_challenge_method') !== 'S256' || !challenge || !/^[\w-]{43}$/.test(challenge))
      throw refuse('invalid_request', 'PKCE is required, with code_challenge_method=S256.')
    if (!query.getAll('resource').every((resource) => isMcpResource(resource, base)))
      throw refuse('invalid_target', `Tokens are valid only for ${mcpUrl(base)}.`)
    const scopes = scopesOf(ctx, singleParam(query, 'scope'))
    if (scopes.length === 0) throw refuse('invalid_scope', 'Request the scope read or write.')
    return { ...from, challenge, scopes }
  } catch (error) {
    if (error instanceof OAuthError) throw refuse(error.code, error.message)
    throw error
  }
}

/** Returns the callback address of the program. `iss` tells it which server answered (RFC 9207). */
export function callbackUrl(
  { redirectUri, state }: Pick<GrantRequestData, 'redirectUri' | 'state'>,
  base: string,
  answer: Record<string, string>,
): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries({ ...answer, ...(state !== null && { state }), iss: mcpUrl(base) }))
    url.searchParams.append(name, value)
  return url.href
}
