import { createHash } from 'node:crypto'
import type { Configuration } from 'openid-client'
import { check } from '../../check.ts'
import type { Config } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { email as emailType, url as urlType } from '../../schema.ts'
import type { App } from '../../services.ts'
import { capitalizeFirst } from '../../text/text.ts'
import { oneLine } from '../mail/message.ts'
import { type CallbackQuery, type Provider, providers } from './schema.ts'

/** Requests to the providers. The library is loaded on first use. */
const loadLibrary = () => import('openid-client')

export const providerNames: Record<Provider, string> = {
  github: 'GitHub',
  google: 'Google',
  oidc: 'the identity provider',
}

export interface Identity {
  provider: Provider
  /** Who vouches for the subject: see `issuerOf`. */
  issuer: string
  /** Id at the issuer. Addresses do not identify a user: they can get another owner. */
  subject: string
  email: string | null
  emailVerified: boolean
  name: string | null
  avatarUrl: string | null
  tokens: { accessToken: string; refreshToken?: string; scope?: string; expiresInSeconds?: number }
}

/** Values that bind the response to the request; only the verifier is secret. */
export interface Attempt {
  state: string
  nonce: string
  verifier: string
}

interface Client {
  id: string
  secret?: string
  issuer: string
}

function clientOf(config: Config, provider: Provider): Client | undefined {
  const client = (id: string | undefined, secret: string | undefined, issuer: string | undefined) =>
    id && issuer ? { id, secret, issuer } : undefined
  switch (provider) {
    case 'github':
      return client(config.CODEHOST_CLIENT_ID, config.CODEHOST_CLIENT_SECRET, config.CODEHOST_URL)
    case 'google':
      return client(config.GOOGLE_CLIENT_ID, config.GOOGLE_CLIENT_SECRET, config.GOOGLE_ISSUER)
    case 'oidc':
      return client(config.OIDC_CLIENT_ID, config.AUTH_BACKEND_KEY, config.AUTH_BACKEND_URL)
  }
}

export const configuredProviders = (config: Config): Provider[] =>
  providers.filter((provider) => clientOf(config, provider))

/**
 * Returns the configured address of a provider, normalized. It is known without a request, and the library accepts only
 * identity tokens whose `iss` belongs to it. (One address may stand for several `iss`, such as for all tenants of
 * Microsoft Entra, whose subjects are different for each user of a client.)
 */
export function issuerOf(config: Config, provider: Provider): string | undefined {
  const client = clientOf(config, provider)
  return client && withoutSlash(new URL(client.issuer).href.replace(/\/\.well-known\/openid-configuration$/, ''))
}

export function requireConfigured({ config }: App, provider: Provider): Client {
  const client = clientOf(config, provider)
  if (!client)
    throw new AppError('not_found', `Signing in with ${providerNames[provider]} is not set up on this server.`, {
      next: [{ route: 'GET /api/auth/providers' }],
    })
  return client
}

// ---- discovery

const LIMIT_MS = 10_000
const KEPT_MS = 3_600_000
const configurationCache = new WeakMap<App, Map<Provider, { found: Promise<Configuration>; at: number }>>()

function configurationOf(app: App, provider: Provider): Promise<Configuration> {
  const client = requireConfigured(app, provider)
  const kept = configurationCache.get(app) ?? new Map()
  configurationCache.set(app, kept)
  const earlier = kept.get(provider)
  if (earlier && performance.now() - earlier.at < KEPT_MS) return earlier.found
  const entry = { found: provider === 'github' ? codeHost(client) : discover(client), at: performance.now() }
  kept.set(provider, entry)
  // A failed discovery is not cached, so that the next sign-in tries again.
  entry.found.catch(() => kept.get(provider) === entry && kept.delete(provider))
  return entry.found
}

const withoutSlash = (address: string): string => address.replace(/\/+$/, '')

/** Plain OAuth 2, without discovery and identity token. */
async function codeHost({ id, secret, issuer }: Client): Promise<Configuration> {
  const { allowInsecureRequests, ClientSecretPost, Configuration } = await loadLibrary()
  const root = `${withoutSlash(issuer)}/login/oauth`
  const server = { issuer: root, authorization_endpoint: `${root}/authorize`, token_endpoint: `${root}/access_token` }
  const configuration = new Configuration(server, id, undefined, ClientSecretPost(secret))
  configuration.timeout = LIMIT_MS / 1000
  if (issuer.startsWith('http:')) allowInsecureRequests(configuration)
  return configuration
}

async function discover({ id, secret, issuer }: Client): Promise<Configuration> {
  const { allowInsecureRequests, ClientSecretBasic, ClientSecretPost, discovery, enableNonRepudiationChecks, None } =
    await loadLibrary()
  // HTTP is allowed only if the operator configured an http: address.
  const execute = [enableNonRepudiationChecks, ...(issuer.startsWith('http:') ? [allowInsecureRequests] : [])]
  // The metadata of the issuer lists the supported client authentication; every issuer must support Basic.
  const authenticate: ReturnType<typeof None> = (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const method =
      secret === undefined
        ? None()
        : methods.includes('client_secret_basic')
          ? ClientSecretBasic(secret)
          : ClientSecretPost(secret)
    return method(server, ...rest)
  }
  return discovery(new URL(issuer), id, undefined, authenticate, { execute, timeout: LIMIT_MS / 1000 })
}

/** Runs several requests to the provider within one time limit. */
async function withTimeLimit<T>(provider: Provider, work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new DOMException('too late', 'TimeoutError')), LIMIT_MS)
  try {
    return await Promise.race([work(), late.promise])
  } catch (error) {
    throw failureOf(provider, error)
  } finally {
    clearTimeout(timer)
  }
}

/** Error of the library. The error code of the token endpoint is in `error`, or in `cause` if its status was 200. */
interface Thrown {
  name?: string
  message?: string
  code?: string
  error?: string
  cause?: { cause?: { body?: { error?: string } } }
}

function failureOf(provider: Provider, thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  const { name, message, code, cause: inner, ...rest } = thrown as Thrown
  const reason = rest.error ?? inner?.cause?.body?.error
  if (reason === 'invalid_grant' || reason === 'bad_verification_code')
    return new AppError('invalid.malformed', `This sign-in has expired at ${providerNames[provider]}. Start again.`)
  // Not the error itself: it contains the request and the response, including tokens.
  const cause = new Error([code ?? name, reason, message].filter(Boolean).join(': '))
  if (code === 'OAUTH_TIMEOUT' || name === 'TimeoutError')
    return new AppError(
      'upstream_timeout',
      `${capitalizeFirst(providerNames[provider])} did not respond in time. Try again in a moment.`,
      { cause },
    )
  return new AppError(
    'upstream_failed',
    `The request to ${providerNames[provider]} failed, or its response was not valid. Try again later.`,
    { cause },
  )
}

// ---- redirect and callback

const scopes: Record<Provider, string> = {
  github: 'read:user user:email',
  google: 'openid email profile',
  oidc: 'openid email profile',
}
const redirectUri = ({ url }: App, provider: Provider): string => `${url}/api/auth/oauth/${provider}/callback`

/** Returns a function that builds the address where the user signs in. */
export async function authorizationUrlAt(app: App, provider: Provider): Promise<(attempt: Attempt) => string> {
  const [configuration, { buildAuthorizationUrl }] = await withTimeLimit(provider, () =>
    Promise.all([configurationOf(app, provider), loadLibrary()]),
  )
  return ({ state, nonce, verifier }) =>
    buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri(app, provider),
      scope: scopes[provider],
      state,
      ...(provider !== 'github' && { nonce }),
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).href
}

/** Gets the identity from the provider. */
export const fetchIdentity = (
  app: App,
  provider: Provider,
  { code, iss }: CallbackQuery,
  attempt: Attempt,
): Promise<Identity> =>
  withTimeLimit(provider, async () => {
    const configuration = await configurationOf(app, provider)
    const { authorizationCodeGrant, fetchUserInfo } = await loadLibrary()
    const answer = new URL(redirectUri(app, provider))
    for (const [name, value] of Object.entries({ code, iss, state: attempt.state }))
      if (value !== undefined) answer.searchParams.set(name, value)
    const tokens = await authorizationCodeGrant(configuration, answer, {
      expectedState: attempt.state,
      pkceCodeVerifier: attempt.verifier,
      ...(provider !== 'github' && { expectedNonce: attempt.nonce, idTokenExpected: true }),
    })
    const kept = {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      scope: tokens.scope,
      expiresInSeconds: tokens.expires_in,
    }
    const issuer = issuerOf(app.config, provider) as string
    if (provider === 'github')
      return { provider, issuer, ...(await codeHostUser(app, tokens.access_token)), tokens: kept }
    const claims = tokens.claims()
    if (!claims) throw new Error('no identity token')
    const complete = claims.email !== undefined || !configuration.serverMetadata().userinfo_endpoint
    const all = complete
      ? claims
      : { ...(await fetchUserInfo(configuration, tokens.access_token, claims.sub)), sub: claims.sub }
    return {
      provider,
      issuer,
      subject: all.sub,
      email: validEmail(all.email),
      emailVerified: all.email_verified === true || (all.email_verified as unknown) === 'true',
      name: shortName(all.name),
      avatarUrl: validUrl(all.picture),
      tokens: kept,
    }
  })

async function codeHostUser(
  { config }: App,
  accessToken: string,
): Promise<Omit<Identity, 'provider' | 'issuer' | 'tokens'>> {
  const ask = async (path: string): Promise<unknown> => {
    const answer = await fetch(withoutSlash(config.CODEHOST_API_URL) + path, {
      headers: {
        authorization: `Bearer ${accessToken}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'tutti',
      },
      redirect: 'error',
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    if (!answer.ok) throw new Error(`${path} returned status ${answer.status}`)
    return answer.json()
  }
  const [user, emails] = (await Promise.all([ask('/user'), ask('/user/emails')])) as [
    { id?: unknown; login?: unknown; name?: unknown; avatar_url?: unknown },
    { email?: unknown; primary?: unknown; verified?: unknown }[],
  ]
  if (!Number.isSafeInteger(user.id) || !Array.isArray(emails)) throw new Error('unexpected response for the user')
  // The address of the profile is not used: its owner can enter any address there.
  const primary = emails.find((e) => e.primary === true)
  return {
    subject: String(user.id),
    email: validEmail(primary?.email),
    emailVerified: primary?.verified === true,
    name: shortName(user.name) ?? shortName(user.login),
    avatarUrl: validUrl(user.avatar_url),
  }
}

const validEmail = (value: unknown): string | null =>
  check(emailType(), value).length === 0 ? (value as string) : null
const shortName = (value: unknown): string | null => (typeof value === 'string' && oneLine(value)) || null
const validUrl = (value: unknown): string | null => (check(urlType(), value).length === 0 ? (value as string) : null)
