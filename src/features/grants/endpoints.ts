import type { Ctx } from '../../action.ts'
import { mcpUrl, programsSignIn } from '../../address.ts'
import { AppError } from '../../errors.ts'
import type { OpenEndpoint, SiteResponse } from '../../feature.ts'
import { OAuthError, readsDocuments, register } from './clients.ts'
import { endByToken, exchangeToken } from './exchange.ts'
import { singleParam } from './requests.ts'

// The OAuth endpoints that programs call. Errors have the format of RFC 6749.

const json = (status: number, body: object, headers: Record<string, string> = {}): SiteResponse => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  body: JSON.stringify(body),
})

const metadataResponse = (body: object): SiteResponse => json(200, body, { 'cache-control': 'max-age=300' })

const errorResponse = ({ code, message, status, retryAfter }: OAuthError): SiteResponse =>
  json(
    status,
    { error: code, error_description: message },
    retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  )

/** Runs an endpoint if programs can sign in to this server, and turns its errors into those of the standard. */
const endpoint =
  (run: (ctx: Ctx, request: Parameters<OpenEndpoint>[1]) => Promise<SiteResponse>): OpenEndpoint =>
  async (ctx, request) => {
    if (!programsSignIn(ctx.app)) return undefined
    try {
      return await run(ctx, request)
    } catch (error) {
      if (error instanceof OAuthError) return errorResponse(error)
      if (error instanceof AppError && error.status < 500)
        return errorResponse(new OAuthError('invalid_request', error.message, error.status))
      throw error
    }
  }

const parseForm = ({ body, contentType }: Parameters<OpenEndpoint>[1]): URLSearchParams => {
  if (!/^application\/x-www-form-urlencoded\b/i.test(contentType))
    throw new OAuthError('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.')
  return new URLSearchParams(new TextDecoder().decode(body))
}

const parseBody = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    throw new OAuthError('invalid_client_metadata', 'The body is not JSON.')
  }
}

export const oauthEndpoints: Record<string, OpenEndpoint> = {
  'GET /.well-known/oauth-protected-resource/mcp': endpoint(async (_, { base }) =>
    metadataResponse({
      resource: mcpUrl(base),
      authorization_servers: [mcpUrl(base)],
      scopes_supported: ['read', 'write'],
      bearer_methods_supported: ['header'],
      resource_name: 'Tutti',
    }),
  ),
  'GET /.well-known/oauth-authorization-server/mcp': endpoint(async (ctx, { base }) =>
    metadataResponse({
      issuer: mcpUrl(base),
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      registration_endpoint: `${base}/oauth/register`,
      revocation_endpoint: `${base}/oauth/revoke`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      scopes_supported: ['read', 'write'],
      authorization_response_iss_parameter_supported: true,
      ...(readsDocuments(ctx) && { client_id_metadata_document_supported: true }),
    }),
  ),
  'POST /oauth/token': endpoint(async (ctx, request) =>
    json(200, await exchangeToken(ctx, request.base, parseForm(request))),
  ),
  'POST /oauth/revoke': endpoint(async (ctx, request) => {
    const token = singleParam(parseForm(request), 'token')
    if (token !== null) await endByToken(ctx, { token })
    return json(200, {})
  }),
  'POST /oauth/register': endpoint(async (ctx, { body, contentType }) => {
    if (!/^application\/json\b/i.test(contentType))
      throw new OAuthError('invalid_client_metadata', 'Send JSON with "Content-Type: application/json".')
    const { id, name, redirectUris } = await register(ctx, { from: parseBody(body) })
    return json(201, {
      client_id: id,
      client_id_issued_at: Math.floor(Date.parse(ctx.now) / 1000),
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    })
  }),
}
