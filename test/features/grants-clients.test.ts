import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as mcp from '@modelcontextprotocol/client'
import { eq } from 'drizzle-orm'
import * as oidc from 'openid-client'
import { tools } from '../../src/all-features.ts'
import { oauthClients } from '../../src/features/grants/table.ts'
import { mcpToken, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { asIfPublic, certificateFor } from '../support/tls.ts'
import { CALLBACK, Program } from './grants-support.ts'
import { TestClock } from './support.ts'

const HOST = 'agents.example'
const tls = certificateFor(HOST)
const clock = new TestClock()
const asked: string[] = []
/** What the host of documents serves, by path. */
const documents: Record<string, (url: URL) => Response | Promise<Response>> = {}
const host = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  tls,
  fetch(request) {
    const url = new URL(request.url)
    asked.push(url.pathname)
    return documents[url.pathname]?.(url) ?? new Response('none', { status: 404 })
  },
})
let t: TestApp
let ada: Person
beforeAll(async () => {
  t = await testApp({ TRUSTED_PROXIES: '127.0.0.1' }, clock.now, asIfPublic(tls.cert))
  ada = await person(t)
})
afterAll(async () => {
  await t.close()
  await host.stop(true)
})

/** What the person does in the browser, which the program opened at this address. */
async function allow(address: URL): Promise<URL> {
  const program = new Program(t, address.searchParams.get('client_id') as string)
  const request = address.search.slice(1)
  const { body } = await program.decide(ada, { request })
  const response = await program.consent(ada, body.ticket)
  return new URL(response.headers.get('location') as string)
}

describe('clients that know only the standards:', () => {
  test('the official MCP client signs in by itself, calls a tool, and renews an expired token', async () => {
    const kept: {
      client?: mcp.StoredOAuthClientInformation
      tokens?: mcp.StoredOAuthTokens
      discovery?: mcp.OAuthDiscoveryState
      verifier?: string
      opened?: URL
    } = {}
    const provider: mcp.OAuthClientProvider = {
      redirectUrl: CALLBACK,
      clientMetadata: { client_name: 'Official', redirect_uris: [CALLBACK] },
      clientInformation: () => kept.client,
      saveClientInformation: (client) => {
        kept.client = client
      },
      tokens: () => kept.tokens,
      saveTokens: (tokens) => {
        kept.tokens = tokens
      },
      discoveryState: () => kept.discovery,
      saveDiscoveryState: (state) => {
        kept.discovery = state
      },
      redirectToAuthorization: (url) => {
        kept.opened = url
      },
      saveCodeVerifier: (verifier) => {
        kept.verifier = verifier
      },
      codeVerifier: () => kept.verifier as string,
    }
    const transport = () => new mcp.StreamableHTTPClientTransport(new URL(`${t.url}/mcp`), { authProvider: provider })
    const first = transport()
    const early = new mcp.Client({ name: 'official', version: '1' })
    expect(await early.connect(first).catch((error: unknown) => error)).toBeInstanceOf(mcp.UnauthorizedError)
    const back = await allow(kept.opened as URL)
    await first.finishAuth(back.searchParams)
    const client = new mcp.Client({ name: 'official', version: '1' })
    await client.connect(transport())
    expect((await client.listTools()).tools).toHaveLength(tools.length)
    const before = kept.tokens?.access_token
    // A new token of hers: what is known of her credentials is read again.
    await mcpToken(t, ada)
    clock.forward({ minutes: 61 })
    const { isError } = await client.callTool({ name: 'list_projects', arguments: {} })
    expect(isError).not.toBe(true)
    expect(kept.tokens?.access_token).not.toBe(before as string)
    await client.close()
    ada = await person(t)
  })

  test('a strict OAuth client accepts every answer', async () => {
    const program = await Program.registered(t)
    const issuer = new URL(`${t.url}/mcp`)
    const config = await oidc.discovery(issuer, program.clientId, undefined, oidc.None(), {
      algorithm: 'oauth2',
      execute: [oidc.allowInsecureRequests],
    })
    const verifier = oidc.randomPKCECodeVerifier()
    const address = oidc.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: 'read write',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: 'here',
      resource: issuer.href,
    })
    const back = await allow(address)
    const check = { pkceCodeVerifier: verifier, expectedState: 'here' }
    const tokens = await oidc.authorizationCodeGrant(config, back, check)
    const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token as string)
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token as string)
    await oidc.tokenRevocation(config, renewed.refresh_token as string)
    expect(
      await oidc
        .refreshTokenGrant(config, renewed.refresh_token as string)
        .catch((e: oidc.ResponseBodyError) => e.error),
    ).toBe('invalid_grant')
  })
})

describe('the metadata document of a client', () => {
  const at = (path: string) => `https://${HOST}:${host.port}${path}`
  const document = (path: string, more: object = {}) => ({
    client_id: at(path),
    client_name: 'Published',
    redirect_uris: ['https://agents.example/cb', 'http://localhost/callback'],
    ...more,
  })
  const serve = (path: string, body: unknown, headers: Record<string, string> = {}) => {
    documents[path] = () => Response.json(body, { headers })
    return at(path)
  }

  test('is cached as long as it says, at least five minutes and at most a day', async () => {
    const id = serve('/one', document('/one'), { 'cache-control': 'max-age=600' })
    const program = new Program(t, id, 'https://agents.example/cb')
    expect((await program.open()).status).toBe(200)
    expect((await program.look(ada)).body).toMatchObject({ name: 'Published', host: `${HOST}:${host.port}` })
    const reads = () => asked.filter((path) => path === '/one').length
    expect(reads()).toBe(1)
    clock.forward({ minutes: 9 })
    await program.open()
    expect(reads()).toBe(1)
    clock.forward({ minutes: 2 })
    serve('/one', document('/one', { redirect_uris: ['https://agents.example/new'] }))
    expect((await program.open()).status).toBe(400)
    expect(reads()).toBe(2)
    const [row] = await t.app.db.select().from(oauthClients).where(eq(oauthClients.id, id))
    expect(Date.parse(row?.freshUntil as string) - clock.now().getTime()).toBe(300_000)
    ada = await person(t)
  })

  test('lets a known client skip the question, unless it asks for more or redirects to a local address', async () => {
    const id = serve('/two', document('/two'))
    const program = new Program(t, id, 'https://agents.example/cb')
    await program.tokens(ada, { scopes: ['read'], request: program.query({ scope: 'read' }) })
    const before = async (query: Record<string, string>) => (await program.look(ada, program.query(query))).body.before
    expect(await before({ scope: 'read' })).toMatchObject({ organizationId: ada.organizationId, scopes: ['read'] })
    expect(await before({ scope: 'read write' })).toBeNull()
    expect(await before({ scope: 'read', redirect_uri: 'http://localhost:5/callback' })).toBeNull()
    expect((await program.look(await person(t), program.query({ scope: 'read' }))).body.before).toBeNull()
  })

  test('gives without a question no more, and for no longer, than the person agreed to', async () => {
    const program = new Program(t, serve('/four', document('/four')), 'https://agents.example/cb')
    const read = program.query({ scope: 'read' })
    const before = async () => (await program.look(ada, read)).body.before
    await program.tokens(ada, { days: 1 })
    clock.forward({ seconds: 1 })
    expect(await before()).toBeNull()
    const project = (await ada.fetch<{ id: string; slug: string }>('POST', '/api/projects', { name: 'Bridge' })).body
    await program.tokens(ada, { days: 10, projectId: project.id })
    const known = await before()
    expect(known).toMatchObject({ scopes: ['read'], days: 10, projectId: project.id })
    const { agentId: _, projectId: __, ...choice } = known as NonNullable<typeof known>
    expect((await program.tokens(ada, { ...choice, request: read })).scope).toBe('read')
    clock.forward({ seconds: 1 })
    await program.tokens(ada, { projectId: project.id })
    clock.forward({ seconds: 1 })
    expect((await before())?.days).toBe(89)
    expect((await ada.fetch('DELETE', `/api/projects/${project.slug}`)).status).toBe(200)
    expect(await before()).toBeNull()
  })

  test('is refused if it is not trustworthy, and no other host is called', async () => {
    serve('/other', document('/else'))
    serve('/secret', document('/secret', { token_endpoint_auth_method: 'client_secret_basic' }))
    serve('/long', document('/long', { client_name: 'x'.repeat(40_000) }))
    serve('/evil', document('/evil', { redirect_uris: ['javascript:alert(1)'] }))
    documents['/moved'] = () => Response.redirect(at('/one'), 302)
    documents['/text'] = () => new Response('hello')
    for (const path of ['/other', '/secret', '/long', '/evil', '/moved', '/text', '/missing']) {
      const page = await new Program(t, at(path), 'https://agents.example/cb').open()
      expect([path, page.status]).toEqual([path, 400])
    }
    const count = asked.length
    for (const id of [
      'https://127.0.0.1/x',
      `${at('/one')}#x`,
      `https://u@${HOST}/x`,
      `https://${HOST}/`,
      'http://agents.example/x',
    ])
      expect((await new Program(t, id, 'https://agents.example/cb').open()).status).toBe(400)
    expect(asked).toHaveLength(count)
  })

  test('is neither announced nor read with OUTBOUND=off', async () => {
    const closed = await testApp({ OUTBOUND: 'off' }, clock.now, asIfPublic(tls.cert))
    const answer = await fetch(`${closed.url}/.well-known/oauth-authorization-server/mcp`)
    expect(await answer.json()).not.toHaveProperty('client_id_metadata_document_supported')
    const id = serve('/three', document('/three'))
    expect((await new Program(closed, id, 'https://agents.example/cb').open()).status).toBe(400)
    expect(asked).not.toContain('/three')
    await closed.close()
  })
})
