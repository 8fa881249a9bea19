import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, SignJWT } from 'jose'
import { Provider as OidcProvider } from 'oidc-provider'
import { atEnd } from './cleanup.ts'

/** The user who is signed in at the provider. */
export interface Subject {
  sub: string
  email?: string
  verified?: boolean
  name?: string
}

/** What a provider stores between the redirect and the request for the identity. */
interface Grant {
  subject: Subject
  challenge: string | null
  nonce: string | null
  redirectUri: string | null
}

/** Faults that a test can cause at a provider. */
export interface Fault {
  /** Every request fails, or is never answered. */
  all?: 'error' | 'silence'
  nonce?: string
  audience?: string
  issuer?: string
  /** Signs with a key that is not among those it publishes. */
  forged?: true
  /** Seconds from now. */
  expires?: number
  /** Instead of a code. */
  error?: string
  /** Replaces the answer of the code host about addresses. */
  emails?: unknown
}

export interface FakeProvider {
  url: string
  /** Settings of an app that trusts it. */
  settings: Record<string, string>
  /** Signed in there. */
  subject: Subject
  fault: Fault
  /** Every access and refresh token it gave out. */
  issued: string[]
  /** Requests, as `GET /path`. */
  asked: string[]
}

const CLIENT = { id: 'tutti-at-the-provider', secret: 'a secret of the provider, 40 characters!' }
const json = (body: unknown, status = 200) => Response.json(body, { status })

interface Part {
  authorize: string
  token: string
  answer(grant: Grant, accessToken: string): Promise<object>
  /** What it says to a code that it does not know. */
  refused: [body: object, status: number]
  more(
    path: string,
    subjectOf: (request: Request) => Subject | undefined,
    request: Request,
  ): Promise<Response> | Response
}

/** Common to all providers: a code for the signed-in user, exchanged once, with the right secret and verifier. */
function fake(part: (provider: FakeProvider) => Part): FakeProvider {
  const grants = new Map<string, Grant>()
  const bearers = new Map<string, Subject>()
  const provider: FakeProvider = { url: '', settings: {}, subject: { sub: '1' }, fault: {}, issued: [], asked: [] }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      provider.asked.push(`${request.method} ${pathname}`)
      if (provider.fault.all === 'error') return new Response('out of order', { status: 500 })
      if (provider.fault.all === 'silence') return new Promise<Response>(() => undefined)
      const { authorize, token, answer, refused, more } = part(provider)
      if (pathname === authorize) return sendBack(searchParams)
      if (pathname === token) return exchange(request, answer, refused)
      return more(pathname, (r) => bearers.get(r.headers.get('authorization')?.replace('Bearer ', '') ?? ''), request)
    },
  })
  provider.url = `http://127.0.0.1:${server.port}`
  atEnd(() => server.stop(true))

  function sendBack(asked: URLSearchParams): Response {
    const back = new URL(asked.get('redirect_uri') as string)
    back.searchParams.set('state', asked.get('state') ?? '')
    if (provider.fault.error) back.searchParams.set('error', provider.fault.error)
    else {
      const code = randomBytes(16).toString('hex')
      const [challenge, nonce, redirectUri] = ['code_challenge', 'nonce', 'redirect_uri'].map((name) =>
        asked.get(name),
      ) as (string | null)[]
      const plain = asked.get('client_id') !== CLIENT.id || asked.get('code_challenge_method') !== 'S256'
      if (plain) return new Response('unknown client, or no proof key', { status: 400 })
      grants.set(code, { subject: provider.subject, challenge, nonce, redirectUri } as Grant)
      back.searchParams.set('code', code)
    }
    return new Response(null, { status: 302, headers: { location: back.href } })
  }

  async function exchange(request: Request, answer: Part['answer'], refused: Part['refused']): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    const basic = request.headers.get('authorization')?.replace('Basic ', '')
    const [id, secret] = basic
      ? Buffer.from(basic, 'base64')
          .toString()
          .split(':')
          .map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
      : [form.get('client_id'), form.get('client_secret')]
    if (id !== CLIENT.id || secret !== CLIENT.secret) return json({ error: 'invalid_client' }, 401)
    const code = form.get('code') ?? ''
    const grant = grants.get(code)
    grants.delete(code)
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!grant || grant.challenge !== proof || grant.redirectUri !== form.get('redirect_uri')) return json(...refused)
    const [accessToken, refreshToken] = [
      `access-${randomBytes(20).toString('hex')}`,
      `refresh-${randomBytes(20).toString('hex')}`,
    ]
    provider.issued.push(accessToken, refreshToken)
    bearers.set(accessToken, grant.subject)
    return json({
      access_token: accessToken,
      refresh_token: refreshToken,
      token_type: 'bearer',
      ...(await answer(grant, accessToken)),
    })
  }

  return provider
}

/** Answers as GitHub does: plain OAuth, the user and their addresses from an API. */
export function fakeCodeHost(): FakeProvider {
  const provider = fake(({ fault }) => ({
    authorize: '/login/oauth/authorize',
    token: '/login/oauth/access_token',
    answer: async () => ({ scope: 'read:user,user:email' }),
    refused: [{ error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.' }, 200],
    more(path, subjectOf, request) {
      const subject = subjectOf(request)
      if (!subject || !request.headers.get('user-agent')) return json({ message: 'Requires authentication' }, 401)
      const { sub, email, verified = true, name } = subject
      if (path === '/api/user')
        // Whatever its owner typed stands on a profile.
        return json({
          id: Number(sub),
          login: `user${sub}`,
          name,
          avatar_url: 'https://avatars.example/1',
          email: 'profile@evil.example',
        })
      if (path === '/api/user/emails')
        return json(
          fault.emails ?? [
            { email: 'other@evil.example', primary: false, verified: true },
            ...(email ? [{ email, primary: true, verified }] : []),
          ],
        )
      return json({ message: 'Not Found' }, 404)
    },
  }))
  provider.settings = {
    CODEHOST_URL: provider.url,
    CODEHOST_API_URL: `${provider.url}/api`,
    CODEHOST_CLIENT_ID: CLIENT.id,
    CODEHOST_CLIENT_SECRET: CLIENT.secret,
  }
  return provider
}

/** The key that issuers sign with and a forger's, made once: each takes a quarter of a second. */
let keys: Promise<GenerateKeyPairResult[]> | undefined

/** Responds as Google does: discovery, and an RS256 identity token that holds everything. Any other issuer, too. */
export async function fakeIssuer(as: 'google' | 'oidc'): Promise<FakeProvider> {
  keys ??= Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')])
  const [good, bad] = (await keys) as [GenerateKeyPairResult, GenerateKeyPairResult]
  const jwk = { ...(await exportJWK(good.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const provider = fake(({ fault, url }) => ({
    authorize: '/authorize',
    token: '/token',
    refused: [{ error: 'invalid_grant' }, 400],
    async answer({ subject: { sub, email, verified, name }, nonce }) {
      const claims = {
        email,
        ...(verified !== undefined && { email_verified: verified }),
        name,
        picture: 'https://pictures.example/1',
      }
      const now = Math.floor(Date.now() / 1000)
      const token = new SignJWT({ ...claims, nonce: fault.nonce ?? nonce })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setIssuer(fault.issuer ?? url)
        .setAudience(fault.audience ?? CLIENT.id)
        .setSubject(sub)
        .setIssuedAt(now)
        .setExpirationTime(now + (fault.expires ?? 3600))
      return {
        scope: 'openid email profile',
        expires_in: 3600,
        id_token: await token.sign((fault.forged ? bad : good).privateKey),
      }
    },
    more(path) {
      if (path === '/jwks') return json({ keys: [jwk] })
      if (path !== '/.well-known/openid-configuration') return json({ error: 'not_found' }, 404)
      return json({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        token_endpoint_auth_methods_supported:
          as === 'google' ? ['client_secret_post', 'client_secret_basic'] : ['client_secret_post'],
      })
    },
  }))
  provider.settings =
    as === 'google'
      ? { GOOGLE_ISSUER: provider.url, GOOGLE_CLIENT_ID: CLIENT.id, GOOGLE_CLIENT_SECRET: CLIENT.secret }
      : { AUTH_BACKEND_URL: provider.url, OIDC_CLIENT_ID: CLIENT.id, AUTH_BACKEND_KEY: CLIENT.secret }
  return provider
}

export interface RealProvider {
  settings: Record<string, string>
  /** Once it is known where the app listens. */
  serve(appUrl: string): void
}

/** A certified OpenID provider, with its own sign-in and consent pages. A user who signs in as `x` is `x@example.com`. */
export async function realProvider(): Promise<RealProvider> {
  const server = createServer()
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    settings: { AUTH_BACKEND_URL: issuer, OIDC_CLIENT_ID: CLIENT.id, AUTH_BACKEND_KEY: CLIENT.secret },
    serve(appUrl) {
      const provider = new OidcProvider(issuer, {
        clients: [
          {
            client_id: CLIENT.id,
            client_secret: CLIENT.secret,
            redirect_uris: [`${appUrl}/api/auth/oauth/oidc/callback`],
          },
        ],
        claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
        pkce: { required: () => true },
        findAccount: async (_, id) => ({
          accountId: id,
          claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: true, name: 'Real Person' }),
        }),
      })
      server.on('request', provider.callback())
    },
  }
}
