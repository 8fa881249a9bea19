import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { tools } from '../../src/all-features.ts'
import { hashSecret } from '../../src/auth/secrets.ts'
import type { GrantPage, OauthClientPage } from '../../src/features/grants/schema.ts'
import { oauthClients, oauthGrants, oauthRefreshTokens } from '../../src/features/grants/table.ts'
import { mcpTokens } from '../../src/features/tokens/table.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import {
  apiKey,
  call,
  mcpToken,
  member,
  PASSWORD,
  type Person,
  person,
  systemCtx,
  type TestApp,
  testApp,
} from '../support/app.ts'
import { until } from '../support/until.ts'
import { substitutesOf } from './accounts-support.ts'
import { network } from './devices-support.ts'
import { Program, type Refused, rpc, type Tokens, toolNames } from './grants-support.ts'
import { TestClock, times } from './support.ts'

const clock = new TestClock()
let t: TestApp
let ada: Person
beforeAll(async () => {
  t = await testApp({ TRUSTED_PROXIES: '127.0.0.1' }, clock.now)
  ada = await person(t)
})
afterAll(() => t.close())

const grantsOf = async (who: Person, query = '') =>
  (await who.fetch<GrantPage>('GET', `/api/settings/grants${query}`)).body
const status = async (token: string) => (await rpc(t, token, 'tools/list')).status

describe('OAuth discovery', () => {
  test('serves both documents below /mcp only, for pages of any origin', async () => {
    const read = async (path: string) => {
      const response = await fetch(t.url + path, { headers: { origin: 'https://elsewhere.example' } })
      return { status: response.status, open: response.headers.get('access-control-allow-origin'), body: response }
    }
    const resource = await read('/.well-known/oauth-protected-resource/mcp')
    expect(resource).toMatchObject({ status: 200, open: '*' })
    expect(await resource.body.json()).toMatchObject({
      resource: `${t.url}/mcp`,
      authorization_servers: [`${t.url}/mcp`],
      scopes_supported: ['read', 'write'],
      bearer_methods_supported: ['header'],
    })
    const server = await read('/.well-known/oauth-authorization-server/mcp')
    expect(await server.body.json()).toMatchObject({
      issuer: `${t.url}/mcp`,
      authorization_endpoint: `${t.url}/oauth/authorize`,
      token_endpoint: `${t.url}/oauth/token`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    })
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      '/.well-known/oauth-protected-resource/mcp/sse',
    ])
      expect((await fetch(t.url + path)).status).toBe(404)
    const before = await fetch(`${t.url}/oauth/token`, {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
    })
    expect([before.status, before.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
  })

  test('is named only by /mcp, not by the addresses for tokens', async () => {
    const asked = async (path: string) =>
      (await rpc(t, undefined, 'tools/list', {}, path)).headers.get('www-authenticate')
    expect(await asked('/mcp')).toBe(
      `Bearer resource_metadata="${t.url}/.well-known/oauth-protected-resource/mcp", scope="read write"`,
    )
    expect(await asked('/mcp/token')).toBe('Bearer realm="tutti"')
    expect(await asked('/mcp/sse')).toBe('Bearer realm="tutti"')
    const token = await mcpToken(t, ada)
    for (const path of ['/mcp', '/mcp/token', '/mcp/sse'])
      expect((await rpc(t, token, 'tools/list', {}, path)).status).toBe(200)
  })

  test('does not exist with OAUTH=off, or over plain http on another host', async () => {
    const plain = { APP_URL: 'http://tutti.example.com', ALLOWED_HOSTS: '127.0.0.1' }
    for (const settings of [{ OAUTH: 'off' }, plain] as Record<string, string>[]) {
      const other = await testApp(settings)
      for (const path of ['/.well-known/oauth-protected-resource/mcp', '/oauth/authorize'])
        expect((await fetch(other.url + path)).status).toBe(404)
      for (const path of ['/oauth/token', '/oauth/register', '/oauth/revoke'])
        expect((await fetch(other.url + path, { method: 'POST', body: new URLSearchParams() })).status).toBe(404)
      expect((await rpc(other, undefined, 'tools/list')).headers.get('www-authenticate')).toBe('Bearer realm="tutti"')
      await other.close()
    }
  })
})

describe('allowing a program', () => {
  test('leads from the question to an MCP call, until the permission is revoked', async () => {
    const program = await Program.registered(t, { client_name: 'Ro\u202ebot\n' })
    const page = await program.open()
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:7777;")
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const asked = await program.look(ada)
    expect(asked.body).toEqual({
      name: 'Ro bot',
      host: null,
      place: 'computer',
      target: 'http://127.0.0.1:7777',
      scopes: ['write'],
      before: null,
    })
    const back = await program.answered(ada)
    expect(Object.fromEntries(back)).toEqual({
      code: expect.stringMatching(/^svc_one_/),
      state: 'st/ate=1',
      iss: `${t.url}/mcp`,
    })
    const { status: got, body, headers } = await program.exchange<Tokens>(back.get('code') as string)
    expect([got, headers.get('cache-control'), headers.get('access-control-allow-origin')]).toEqual([
      200,
      'no-store',
      '*',
    ])
    expect(body).toEqual({
      access_token: expect.stringMatching(/^svc_live_/),
      refresh_token: expect.stringMatching(/^svc_ref_/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'read write',
    })
    expect(await toolNames(t, body.access_token)).toHaveLength(tools.length)
    // It is a permission, and no token of the Tokens page.
    expect((await ada.fetch<{ items: unknown[] }>('GET', '/api/mcp-tokens')).body.items).not.toContainEqual(
      expect.objectContaining({ name: 'Ro bot' }),
    )
    const { items } = await grantsOf(ada)
    expect(items[0]).toMatchObject({
      name: 'Ro bot',
      host: null,
      agentName: 'Ro bot (Ada Lovelace)',
      scopes: ['write'],
      useCount: 1,
      revokedAt: null,
      can: { revoke: true },
    })
    // What it does is done by the permission, whatever token it has at the time.
    const made = await rpc(t, body.access_token, 'tools/call', {
      name: 'create_project',
      arguments: { name: 'By robot' },
    })
    expect(made.result.isError).not.toBe(true)
    const [event] = await t.app.db
      .execute<{ credential_id: string }>(
        sql`select credential_id from events where type = 'project.created' order by seq desc limit 1`,
      )
      .then(({ rows }) => rows)
    expect(event?.credential_id).toBe(items[0]?.id as string)
    expect((await ada.fetch('DELETE', `/api/settings/grants/${items[0]?.id}`)).status).toBe(200)
    expect(await status(body.access_token)).toBe(401)
    expect((await program.refresh<Refused>(body.refresh_token)).body.error).toBe('invalid_grant')
    expect((await grantsOf(ada)).items).toEqual([])
  })

  test('stores only hashes of secrets', async () => {
    const program = await Program.registered(t)
    const tokens = await program.tokens(ada)
    const stored = JSON.stringify([
      await t.app.db.select().from(oauthGrants),
      await t.app.db.select().from(oauthRefreshTokens),
      await t.app.db.select().from(mcpTokens),
    ])
    expect(stored).toContain(hashSecret(tokens.refresh_token))
    for (const secret of [tokens.access_token, tokens.refresh_token]) expect(stored).not.toContain(secret)
  })

  test('is refused by sending the program back without a code', async () => {
    const program = await Program.registered(t)
    const back = await program.answered(ada, { decision: 'deny' })
    expect(Object.fromEntries(back)).toEqual({ error: 'access_denied', state: 'st/ate=1', iss: `${t.url}/mcp` })
  })

  test('gives no more than the program requested and the person has', async () => {
    const program = await Program.registered(t)
    const narrow = program.query({ scope: 'notes:read offline_access' })
    expect((await program.look(ada, narrow)).body.scopes).toEqual(['notes:read'])
    expect((await program.decide(ada, { request: narrow, scopes: ['write'] })).status).toBe(422)
    expect((await program.decide(ada, { request: narrow, scopes: [] })).status).toBe(422)
    const other = await person(t)
    expect((await program.decide(ada, { organizationId: other.organizationId })).status).toBe(404)
    const { access_token, scope } = await program.tokens(ada, { scopes: ['read'], toolsets: ['notes'], days: 1 })
    expect(scope).toBe('read')
    const names = await toolNames(t, access_token)
    expect(names.length).toBeGreaterThan(0)
    expect(names).not.toContain('create_note')
  })

  test('tells a program the scope that a call lacks, if it can request it', async () => {
    const program = await Program.registered(t)
    const { access_token } = await program.tokens(ada, { scopes: ['read'] })
    const create = { name: 'create_note', arguments: { title: 'x' } }
    const refused = await rpc(t, access_token, 'tools/call', create)
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", resource_metadata="${t.url}/.well-known/oauth-protected-resource/mcp", scope="read write"`,
    )
    const fixed = await mcpToken(t, ada, { scopes: ['read'] })
    const told = await rpc(t, fixed, 'tools/call', create)
    expect([told.status, told.result.isError]).toEqual([200, true])
  })

  test('needs a person who has recently confirmed their identity', async () => {
    const program = await Program.registered(t)
    for (const [who, fetch] of Object.entries(await substitutesOf(t, ada))) {
      const substitute: Person = { ...ada, fetch }
      expect([who, (await program.look(substitute)).status]).toEqual([who, 403])
      expect([who, (await program.decide(substitute)).status]).toEqual([who, 403])
    }
    clock.forward({ minutes: 14 })
    expect((await program.decide(ada)).status).toBe(200)
    clock.forward({ minutes: 2 })
    expect([401, 403]).toContain((await program.decide(ada)).status)
    ada = await person(t)
  })
})

describe('OAuth', () => {
  test('lets the consent page redirect to the program’s address only', async () => {
    const program = await Program.registered(t, { redirect_uris: ['http://[::1]/cb', 'http://127.0.0.1/cb'] })
    const leadsTo = async (redirect_uri: string) =>
      /form-action ([^;]*)/.exec(
        (await program.open(program.query({ redirect_uri }))).headers.get('content-security-policy') ?? '',
      )?.[1]
    expect(await leadsTo('http://127.0.0.1:7/cb')).toBe("'self' http://127.0.0.1:7")
    // Browsers skip an address of IPv6 there, and would keep the person from going back.
    expect(await leadsTo('http://[::1]:7/cb')).toBe("'self' http:")
  })

  test('shows a page and does not redirect to unregistered addresses', async () => {
    const program = await Program.registered(t, {
      redirect_uris: ['https://app.example/cb', 'http://localhost/callback', 'com.example.app:/cb'],
    })
    for (const uri of [
      'https://app.example@evil.example/cb',
      'https://app.example.evil.example/cb',
      'https://app.example:8443/cb',
      'https://app.example/cb%2f..',
      'https://app.example/cb/../other',
      'https://app.example/cb#x',
      'https://app.example/cb?x=1',
      '//evil.example/cb',
      'http://127.0.0.1/callback',
      'http://localhost:9/other',
      'http://localhost.evil.example/callback',
      'com.example.app:/other',
      'com.evil.app:/cb',
      'javascript:alert(1)',
    ]) {
      const page = await program.open(program.query({ redirect_uri: uri }))
      expect([uri, page.status, page.headers.get('location')]).toEqual([uri, 400, null])
      expect(await page.text()).toContain('cannot be authorized')
    }
    for (const uri of ['https://app.example/cb', 'http://localhost:31337/callback', 'com.example.app:/cb'])
      expect((await program.open(program.query({ redirect_uri: uri }))).status).toBe(200)
    expect((await program.open(program.query({ client_id: 'nobody' }))).status).toBe(400)
    expect((await program.open(`${program.query()}&client_id=twice`)).status).toBe(400)
  })

  describe('GET /oauth/authorize with a mistake in the request', () => {
    const wrong: [Record<string, string | undefined>, string][] = [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ code_challenge_method: undefined }, 'invalid_request'],
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ code_challenge: 'short' }, 'invalid_request'],
      [{ resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
      [{ scope: 'profile' }, 'invalid_scope'],
    ]

    test('shows a page and does not redirect if the program registered itself', async () => {
      const program = await Program.registered(t, { redirect_uris: ['https://evil.example/cb'] })
      const redirect_uri = 'https://evil.example/cb'
      for (const [change, error] of wrong) {
        const page = await program.open(program.query({ redirect_uri, ...change }))
        expect([page.status, page.headers.get('location')]).toEqual([400, null])
        const text = await page.text()
        expect(text).toContain(`(${error})`)
        expect(text).not.toContain('evil.example')
      }
      // The page never sends anybody anywhere by itself, whether or not somebody is signed in.
      for (const prompt of ['none', 'login', 'consent'])
        expect((await program.open(program.query({ redirect_uri, prompt }))).status).toBe(200)
      expect((await program.open(program.query({ redirect_uri, resource: `${t.url}/mcp` }))).status).toBe(200)
    })

    test('redirects to a program that an administrator added', async () => {
      const root = await person(t, { admin: true })
      const added = { name: 'Added', redirectUris: ['http://127.0.0.1/callback'] }
      const { id } = (await root.fetch<{ id: string }>('POST', '/api/admin/oauth-clients', added)).body
      const program = new Program(t, id)
      for (const [change, error] of wrong) {
        const { status, headers } = await program.open(program.query(change))
        const back = new URL(headers.get('location') as string)
        expect([status, back.origin, back.searchParams.get('error')]).toEqual([303, 'http://127.0.0.1:7777', error])
        expect([back.searchParams.get('iss'), back.searchParams.get('state')]).toEqual([`${t.url}/mcp`, 'st/ate=1'])
      }
    })
  })

  describe('redirect schemes that are not allowed', () => {
    const refused = ['cursor://anysphere/cb', 'vscode://x/cb', 'javascript:alert(1)', 'data:text/html,x', 'file:///x']
    const others = ['ms-msdt:/id', 'mailto:x@y.example', 'ws://127.0.0.1/cb', 'ftp://x.example/', 'http://x.example/cb']

    test('cannot be registered', async () => {
      for (const uri of [...refused, ...others]) {
        const { status, body } = await call<Refused>(t, 'POST', '/oauth/register', { redirect_uris: [uri] }, network())
        expect([uri, status, body.error]).toEqual([uri, 400, 'invalid_redirect_uri'])
      }
      const allowed = ['https://x.example/cb', 'http://127.0.0.1/cb', 'http://[::1]/cb', 'http://localhost/cb']
      await Program.registered(t, { redirect_uris: [...allowed, 'com.example.app:/cb', 'com.example.app://cb'] })
    })

    test('show a page if the program registered them earlier', async () => {
      const { clientId } = await Program.registered(t)
      await t.app.db.update(oauthClients).set({ redirectUris: refused }).where(eq(oauthClients.id, clientId))
      for (const uri of refused) {
        const program = new Program(t, clientId, uri)
        const page = await program.open()
        expect([uri, page.status, page.headers.get('location')]).toEqual([uri, 400, null])
        expect((await program.decide(ada)).status).toBe(422)
      }
    })
  })

  test('accepts a code once, from its program, with its verifier, within a minute', async () => {
    const attempts: [string, (program: Program, code: string) => Promise<{ body: Refused }>, string][] = [
      ['wrong verifier', (p, code) => p.exchange(code, { code_verifier: 'x'.repeat(43) }), 'invalid_grant'],
      ['another program', (p, code) => p.exchange(code, { client_id: 'other' }), 'invalid_grant'],
      ['another address', (p, code) => p.exchange(code, { redirect_uri: 'https://x.example/' }), 'invalid_grant'],
      ['no verifier', (p, code) => p.exchange(code, { code_verifier: '' }), 'invalid_request'],
      ['another target', (p, code) => p.exchange(code, { resource: 'https://x.example/' }), 'invalid_target'],
      ['another kind', (p, code) => p.exchange(code, { grant_type: 'password' }), 'unsupported_grant_type'],
    ]
    for (const [what, attempt, error] of attempts) {
      const program = await Program.registered(t)
      const { body } = await attempt(program, await program.code(ada))
      expect([what, body.error]).toEqual([what, error])
    }
    const program = await Program.registered(t)
    const code = await program.code(ada)
    const first = await program.exchange<Tokens>(code)
    expect(await status(first.body.access_token)).toBe(200)
    // A second use ends what the first gave.
    expect((await program.exchange(code)).body.error).toBe('invalid_grant')
    expect(await status(first.body.access_token)).toBe(401)
    expect((await program.refresh<Refused>(first.body.refresh_token)).status).toBe(400)
    const late = await program.code(ada)
    clock.forward({ seconds: 61 })
    expect((await program.exchange(late)).body.error).toBe('invalid_grant')
  })

  test('accepts a refresh token only with the id of its program', async () => {
    const program = await Program.registered(t)
    const { refresh_token } = await program.tokens(ada)
    const renewal = { grant_type: 'refresh_token', refresh_token }
    expect((await program.token(renewal)).body.error).toBe('invalid_request')
    const other = await Program.registered(t)
    expect((await other.refresh<Refused>(refresh_token)).body.error).toBe('invalid_grant')
    expect((await program.refresh(refresh_token)).status).toBe(200)
  })

  test('gives tokens at most once for twenty uses of a code, and revokes them', async () => {
    const program = await Program.registered(t)
    const code = await program.code(ada)
    const answers = await Promise.all(times(20, () => program.exchange<Tokens>(code)))
    const good = answers.filter(({ status }) => status === 200)
    expect(good).toHaveLength(1)
    expect(await status(good[0]?.body.access_token as string)).toBe(401)
  })

  test('accepts a decision once, in the login session that made it', async () => {
    const program = await Program.registered(t)
    const ticket = async () => (await program.decide(ada)).body.ticket
    const eve = await person(t)
    expect((await program.consent(eve, await ticket())).status).toBe(403)
    expect((await program.consent(ada, 'svc_one_forged')).status).toBe(403)
    expect((await program.consent(undefined, await ticket())).status).toBe(401)
    const foreign = await program.consent(ada, await ticket(), { origin: 'https://evil.example' })
    expect(foreign.status).toBe(403)
    const used = await ticket()
    expect((await program.consent(ada, used)).status).toBe(303)
    expect((await program.consent(ada, used)).status).toBe(403)
  })

  test('refuses a decision after the person lost the right or the program was removed', async () => {
    const root = await person(t, { admin: true })
    const grace = await member(t, ada, 'member')
    const added = { name: 'Added', redirectUris: ['http://127.0.0.1/callback'] }
    const { id } = (await root.fetch<{ id: string }>('POST', '/api/admin/oauth-clients', added)).body
    const program = new Program(t, id)
    const decided = async (who: Person, choice = {}) =>
      (await program.decide(who, { organizationId: ada.organizationId, ...choice })).body.ticket
    const left = await decided(grace)
    expect((await ada.fetch('DELETE', `/api/teams/${ada.organizationId}/members/${grace.userId}`)).status).toBe(200)
    expect((await program.consent(grace, left)).status).toBe(404)
    const agent = (await ada.fetch<{ id: string }>('POST', '/api/agents', { name: 'Helper' })).body
    const worked = await decided(ada, { agentId: agent.id })
    expect((await ada.fetch('DELETE', `/api/agents/${agent.id}`)).status).toBe(200)
    expect((await program.consent(ada, worked)).status).toBe(404)
    const removed = await decided(ada)
    expect((await root.fetch('DELETE', `/api/admin/oauth-clients/${id}`)).status).toBe(200)
    expect((await program.consent(ada, removed)).status).toBe(403)
  })

  test('does not count idle permissions towards the limit', async () => {
    const program = await Program.registered(t)
    const eve = await person(t)
    await program.tokens(eve)
    const past = new Date(clock.now().getTime() - 1000).toISOString()
    await t.app.db.execute(sql`insert into oauth_grants (id, created_at, updated_at, user_id, organization_id, client_id,
      client_name, scopes, toolsets, idle_until, expires_at)
      select gen_random_uuid(), created_at, updated_at, user_id, organization_id, client_id, client_name, scopes,
        toolsets, ${past}::timestamptz, expires_at from oauth_grants, generate_series(1, 100)
      where user_id = ${eve.userId}::uuid`)
    await program.tokens(eve)
  })

  test('accepts its tokens at the MCP endpoint only, and no other credentials there', async () => {
    const { access_token, refresh_token } = await (await Program.registered(t)).tokens(ada)
    const authorization = (token: string) => ({ authorization: `Bearer ${token}` })
    expect((await call(t, 'GET', '/api/notes', undefined, authorization(access_token))).status).toBe(403)
    expect((await call(t, 'GET', '/api/notes', undefined, authorization(refresh_token))).status).toBe(401)
    expect(await status(await apiKey(t, ada))).toBe(401)
    expect(await status(refresh_token)).toBe(401)
    expect((await rpc(t, undefined, 'tools/list', {}, `/mcp?access_token=${access_token}`)).status).toBe(401)
  })

  test('answers malformed requests with OAuth errors', async () => {
    const send = (path: string, body: string, type: string) =>
      call<Refused>(t, 'POST', path, body, { 'content-type': type, ...network() })
    const form = 'application/x-www-form-urlencoded'
    expect((await send('/oauth/token', '{}', 'application/json')).body.error).toBe('invalid_request')
    expect((await send('/oauth/token', 'grant_type=refresh_token&grant_type=x', form)).body.error).toBe(
      'invalid_request',
    )
    expect((await send('/oauth/token', `code=${'x'.repeat(70_000)}`, form)).status).toBe(413)
    expect((await send('/oauth/register', '[]', 'application/json')).body.error).toBe('invalid_client_metadata')
    expect((await send('/oauth/register', '{', 'application/json')).body.error).toBe('invalid_client_metadata')
    const uris = ['https://ok.example/', 'data:text/html,x', 'http://evil.example/', 'https://u:p@x.example/', 'x']
    for (const uri of uris.slice(1)) {
      const { body } = await send(
        '/oauth/register',
        JSON.stringify({ redirect_uris: [uris[0], uri] }),
        'application/json',
      )
      expect(body.error).toBe('invalid_redirect_uri')
    }
    expect((await send('/oauth/revoke', 'token=unknown', form)).status).toBe(200)
    expect((await send('/oauth/revoke', '', form)).status).toBe(200)
  })

  test('lets a network register twenty programs an hour, and deletes unused ones after a day', async () => {
    const from = network()
    const register = () =>
      call<Refused>(t, 'POST', '/oauth/register', { redirect_uris: ['https://app.example/cb'] }, from)
    const answers = await Promise.all(times(21, register))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.body.error).toBe('temporarily_unavailable')
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    const used = await Program.registered(t)
    await used.tokens(ada)
    const before = await t.app.db.$count(oauthClients)
    clock.forward({ days: 1, minutes: 60 })
    await purgeExpired({ ...systemCtx(t), now: clock.now().toISOString() }, {})
    expect(await t.app.db.$count(oauthClients)).toBeLessThan(before)
    expect(await t.app.db.$count(oauthClients, eq(oauthClients.id, used.clientId))).toBe(1)
    ada = await person(t)
  })
})

describe('renewing a token', () => {
  test('replaces the refresh token; the earlier one works for another minute', async () => {
    const program = await Program.registered(t)
    const first = await program.tokens(ada)
    const answers = await Promise.all(times(20, () => program.refresh(first.refresh_token)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    const followers = new Set(answers.map(({ body }) => body.refresh_token))
    expect(followers.size).toBe(1)
    const [second] = followers
    clock.forward({ seconds: 59 })
    expect((await program.refresh(first.refresh_token)).body.refresh_token).toBe(second as string)
    const third = await program.refresh(second as string)
    expect(await status(third.body.access_token)).toBe(200)
    // The first is now two turns old: somebody else has it.
    expect((await program.refresh<Refused>(first.refresh_token)).body.error).toBe('invalid_grant')
    expect(await status(third.body.access_token)).toBe(401)
    expect((await program.refresh<Refused>(third.body.refresh_token)).body.error).toBe('invalid_grant')
  })

  test('with the earlier refresh token after a minute ends the permission', async () => {
    const program = await Program.registered(t)
    const first = await program.tokens(ada)
    const second = await program.refresh(first.refresh_token)
    clock.forward({ seconds: 61 })
    expect((await program.refresh<Refused>(first.refresh_token)).body.error).toBe('invalid_grant')
    expect(await status(second.body.access_token)).toBe(401)
  })

  test('is possible for 30 idle days and 90 days in all; access tokens last an hour', async () => {
    const program = await Program.registered(t)
    const idle = await program.tokens(ada)
    const other = await Program.registered(t)
    const busy = await other.tokens(ada)
    clock.forward({ seconds: 3601 })
    expect(await status(idle.access_token)).toBe(401)
    let { body: last } = await other.refresh(busy.refresh_token)
    for (const days of [29, 29, 29]) {
      clock.forward({ days })
      ;({ body: last } = await other.refresh(last.refresh_token))
      expect(last.access_token).toBeString()
    }
    expect((await program.refresh<Refused>(idle.refresh_token)).body.error).toBe('invalid_grant')
    clock.forward({ days: 4 })
    expect((await other.refresh<Refused>(last.refresh_token)).body.error).toBe('invalid_grant')
    ada = await person(t)
  })

  test('ends when the program revokes its token', async () => {
    const program = await Program.registered(t)
    for (const which of ['refresh_token', 'access_token'] as const) {
      const tokens = await program.tokens(ada)
      const form = new URLSearchParams({ token: tokens[which] }).toString()
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      expect((await call(t, 'POST', '/oauth/revoke', form, { ...type, ...network() })).status).toBe(200)
      expect(await status(tokens.access_token)).toBe(401)
      expect((await program.refresh(tokens.refresh_token)).status).toBe(400)
    }
  })
})

test('administrators add programs, see who allowed them, and remove them with all permissions', async () => {
  const root = await person(t, { admin: true })
  const added = await root.fetch<{ id: string }>('POST', '/api/admin/oauth-clients', {
    name: 'Added',
    redirectUris: ['http://127.0.0.1/callback'],
  })
  expect(added.status).toBe(201)
  const program = new Program(t, added.body.id)
  const tokens = await program.tokens(ada)
  const { items } = (await root.fetch<OauthClientPage>('GET', '/api/admin/oauth-clients')).body
  expect(items.find(({ id }) => id === added.body.id)).toMatchObject({
    ...{ name: 'Added', kind: 'added', grants: 1, lastUsedAt: null },
  })
  expect(await status(tokens.access_token)).toBe(200)
  const used = async () =>
    (await root.fetch<OauthClientPage>('GET', '/api/admin/oauth-clients')).body.items.find(
      ({ id }) => id === program.clientId,
    )
  await t.app.auth.flushUsage() // which is due only every half minute
  await until(async () => (await used())?.lastUsedAt)
  // An address is an id as well, at the end of a page too.
  const at = clock.now().toISOString()
  const published = { kind: 'document', name: 'Published', redirectUris: [], createdAt: at } as const
  await t.app.db.insert(oauthClients).values({ ...published, redirectUris: [], id: 'https://agents.example/one' })
  const first = (await root.fetch<OauthClientPage>('GET', '/api/admin/oauth-clients?limit=1')).body
  const next = `/api/admin/oauth-clients?limit=1&cursor=${first.nextCursor}`
  const second = (await root.fetch<OauthClientPage>('GET', next)).body
  expect(new Set([first.items[0]?.id, second.items[0]?.id])).toContain('https://agents.example/one')
  const itsPath = `/api/admin/oauth-clients/${encodeURIComponent('https://agents.example/one')}`
  expect((await root.fetch('DELETE', itsPath)).status).toBe(200)
  expect((await root.fetch('DELETE', itsPath)).status).toBe(404)
  expect((await ada.fetch('GET', '/api/admin/oauth-clients')).status).toBe(403)
  const wrong = { name: 'Added', redirectUris: ['http://evil.example/'] }
  expect((await root.fetch('POST', '/api/admin/oauth-clients', wrong)).status).toBe(422)
  expect((await root.fetch('DELETE', `/api/admin/oauth-clients/${added.body.id}`)).status).toBe(200)
  expect(await status(tokens.access_token)).toBe(401)
  expect((await program.open()).status).toBe(400)
})

describe('a permission ends', () => {
  test('if the user is suspended between the decision and the token', async () => {
    const program = await Program.registered(t)
    const eve = await person(t)
    const root = await person(t, { admin: true })
    const code = await program.code(eve)
    expect((await root.fetch('PATCH', `/api/admin/users/${eve.userId}/suspend`, {})).status).toBe(200)
    expect((await program.exchange(code)).body.error).toBe('invalid_grant')
  })

  test('when its user leaves the team, deletes the agent or changes the password', async () => {
    const program = await Program.registered(t)
    const grace = await member(t, ada, 'member')
    const grant = async (who: Person) => program.tokens(who, { organizationId: ada.organizationId })
    const left = await grant(grace)
    expect((await ada.fetch('DELETE', `/api/teams/${ada.organizationId}/members/${grace.userId}`)).status).toBe(200)
    expect(await status(left.access_token)).toBe(401)
    expect((await program.refresh(left.refresh_token)).status).toBe(400)

    const agent = (await ada.fetch<{ id: string }>('POST', '/api/agents', { name: 'Helper' })).body
    const worked = await program.tokens(ada, { agentId: agent.id })
    expect((await ada.fetch('DELETE', `/api/agents/${agent.id}`)).status).toBe(200)
    expect(await status(worked.access_token)).toBe(401)

    const mine = await program.tokens(ada)
    const change = { currentPassword: PASSWORD, newPassword: 'seven quiet lamps at dusk', keepKeys: true }
    expect((await ada.fetch('POST', '/api/auth/change-password', change)).status).toBe(200)
    expect(await status(mine.access_token)).toBe(401)
    ada = await person(t)
  })

  test('when an owner of its team revokes it, and no one else’s does', async () => {
    const program = await Program.registered(t)
    const grace = await member(t, ada, 'admin')
    const tokens = await program.tokens(grace, { organizationId: ada.organizationId })
    const ofTeam = `?organizationId=${ada.organizationId}`
    const { items } = await grantsOf(ada, ofTeam)
    const theirs = items.find(({ user }) => user.id === grace.userId)
    expect(theirs).toBeDefined()
    expect((await grace.fetch('GET', `/api/settings/grants${ofTeam}`)).status).toBe(403)
    const eve = await person(t)
    expect((await grantsOf(eve, ofTeam)).items).toEqual([])
    expect((await eve.fetch('DELETE', `/api/settings/grants/${theirs?.id}`)).status).toBe(404)
    expect(await status(tokens.access_token)).toBe(200)
    expect((await ada.fetch('DELETE', `/api/settings/grants/${theirs?.id}`)).status).toBe(200)
    expect(await status(tokens.access_token)).toBe(401)
  })
})
