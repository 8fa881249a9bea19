import { beforeAll, describe, expect, test } from 'bun:test'
import { inArray } from 'drizzle-orm'
import { exportPublicKey, keyFingerprint, keysOf, newSeeds, packBundle } from '../../src/auth/bundle.ts'
import { newId } from '../../src/db/columns.ts'
import { codes } from '../../src/errors.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import { users } from '../../src/features/users/table.ts'
import { API_VERSION, type RouteLike } from '../../src/http/openapi.ts'
import {
  askByCode,
  browserOf,
  changeLink,
  linkTo,
  newAddress,
  post,
  provedPerson,
  resetLink,
} from '../features/accounts-support.ts'
import { codeFor, linkFor } from '../features/codes-support.ts'
import { type Answer, call, PASSWORD, type Person, person, systemCtx, unique } from '../support/app.ts'
import { Authenticator, newPasskey } from '../support/authenticator.ts'
import { EXAMPLE_TOKEN } from '../support/code-host.ts'
import {
  callRoute,
  document,
  Failures,
  isPublic,
  isSocket,
  isWrite,
  nameOf,
  type Operation,
  operationOf,
  routes,
  ruleOf,
  t,
  undocumentedResponses,
} from './ask.ts'
import { type Json, mismatch, resolve } from './json-schema.ts'
import { bodyOf, buildWorld, fillPath, invitation, paramsOf, type World, workspaceInvitation } from './world.ts'

/** The document that `/api/openapi.json` gives out, and whether the server keeps what it promises. */
const operations = routes.map((route): [string, RouteLike, Operation] => [nameOf(route), route, operationOf(route)])
const fields = (node: unknown): Record<string, Json> => node as Record<string, Json>

function* nodes(node: Json, at = '#'): Generator<[string, Record<string, Json>]> {
  if (node === null || typeof node !== 'object') return
  if (!Array.isArray(node)) yield [at, node]
  for (const [name, inner] of Object.entries(node)) yield* nodes(inner, `${at}/${name}`)
}

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(Object.keys(document).sort()).toEqual(['components', 'info', 'openapi', 'paths', 'security', 'servers'])
    expect(fields(document.info)).toMatchObject({ title: 'Tutti', version: API_VERSION, license: { name: 'MIT' } })
    expect(Object.keys(fields(fields(document.components).securitySchemes))).toEqual(['bearer'])
    expect(document.security).toEqual([{ bearer: [] }])
    const kinds = new Set(['get', 'put', 'post', 'delete', 'patch'])
    for (const [path, item] of Object.entries(fields(document.paths))) {
      expect(path).toStartWith('/')
      for (const kind of Object.keys(fields(item))) expect([path, kind, kinds.has(kind)]).toEqual([path, kind, true])
    }
  })

  test('lists exactly the routes of the server', () => {
    const written = Object.entries(fields(document.paths)).flatMap(([path, item]) =>
      Object.keys(fields(item)).map((kind) => `${kind.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    )
    expect(written.sort()).toEqual(routes.map(nameOf).sort())
  })

  test('contains no dangling reference', () => {
    const refs = [...nodes(document)].filter(([, node]) => typeof node.$ref === 'string')
    expect(refs.length).toBeGreaterThan(100)
    for (const [at, node] of refs) expect(() => resolve(document, node.$ref as string), at).not.toThrow()
  })

  test('has unique operation ids that name the call: `notes.create`', () => {
    const ids = operations.map(([, , o]) => o.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/)
  })

  test.each(operations)('describes what %s does, accepts and returns', (_name, route, o) => {
    expect(o.summary).toMatch(/^[A-Z].{5,99}[^.]$/)
    expect(o.tags).toEqual([o.operationId.split('.')[0] as string])
    expect(o.description.length).toBeGreaterThan(10)
    expect(o.security).toEqual(isPublic(route) ? [] : (undefined as never))
    const inPath = o.parameters?.filter((p) => p.in === 'path') ?? []
    expect(inPath.map((p) => p.name)).toEqual(paramsOf(route.path).map((p) => p.replace(/.*:/, '')))
    for (const p of inPath) expect(p.required).toBe(true)
    const names = o.parameters?.map((p) => `${p.in} ${p.name}`) ?? []
    expect(new Set(names).size).toBe(names.length)
    expect(!!o.requestBody).toBe(!!route.hooks.body)
    const good = Object.keys(o.responses).filter((status) => status.startsWith('2'))
    // A WebSocket has no answer of its own.
    if (isSocket(route)) return expect(good).toEqual([])
    // It changes a list of tasks at once, or lets a job change all that match.
    expect(good).toHaveLength(`${route.method} ${route.path}` === 'POST /api/tasks/batch' ? 2 : 1)
    const others: Record<string, string> = {
      'GET /uploads/:id': 'image/*',
      'GET /api/uploads/:id': '*/*',
    }
    const type = others[`${route.method} ${route.path}`] ?? 'application/json'
    expect(Object.keys(fields(o.responses[good[0] as string]?.content))).toEqual([type])
    const expected = ['400', '422', '429', '500', '503']
    if (!isPublic(route)) expected.push('401', '403', '404')
    if (route.path.includes(':')) expected.push('404')
    if (isWrite(route)) expected.push('409', '413', '415', '507')
    expect(Object.keys(o.responses)).toEqual(expect.arrayContaining(expected))
    for (const [status, answer] of Object.entries(o.responses)) {
      expect(answer.description.length).toBeGreaterThan(1)
      if (Number(status) >= 400)
        expect(answer.content['application/problem+json']?.schema).toEqual({ $ref: '#/components/schemas/Problem' })
    }
  })

  test.each(operations)('has examples of %s that match its schemas', (_name, _route, o) => {
    const examples: [string, Json, Json | undefined][] = [
      ...(o.parameters ?? [])
        .filter((p) => p.in !== 'header')
        .map((p): [string, Json, Json | undefined] => [`${p.in} ${p.name}`, p.schema, p.example]),
      ...Object.values(o.requestBody?.content ?? {}).map((c): [string, Json, Json] => ['body', c.schema, c.example]),
      ...Object.entries(o.responses)
        .filter(([status]) => status.startsWith('2'))
        .map(([status, answer]): [string, Json, Json | undefined] => [
          status,
          Object.values(answer.content)[0]?.schema as Json,
          Object.values(answer.content)[0]?.example,
        ]),
    ]
    for (const [what, schema, example] of examples) {
      expect([what, typeof example]).not.toEqual([what, 'undefined'])
      expect([what, mismatch(schema, example as Json, document)]).toEqual([what, undefined])
    }
  })

  test('has only closed objects: unknown fields are neither accepted nor returned', () => {
    const open: string[] = []
    for (const [name, , o] of operations) {
      const schemas = [
        ...Object.values(o.requestBody?.content ?? {}),
        ...Object.entries(o.responses).flatMap(([s, r]) => (s.startsWith('2') ? Object.values(r.content) : [])),
      ].map((c) => c.schema)
      for (const [at, node] of schemas.flatMap((schema) => [...nodes(schema)]))
        if (node.type === 'object' && node.additionalProperties !== false && !node.patternProperties)
          open.push(`${name} ${at}`)
    }
    expect(open).toEqual([])
  })

  test('lists exactly the known error codes', () => {
    expect(fields(fields(fields(fields(document.components).schemas).Problem).properties).code).toEqual({
      type: 'string',
      enum: Object.keys(codes),
    })
  })
})

describe('the promises of the OpenAPI document', () => {
  let a: World
  let admin: Person
  beforeAll(async () => {
    a = await buildWorld(t)
    admin = await person(t, { admin: true })
    const note = await a.owner.fetch<{ slug: string }>('POST', '/api/notes', {
      title: unique('Open letter'),
      scope: 'public',
    })
    const project = await a.owner.fetch<{ id: string; slug: string }>('POST', '/api/projects', {
      name: unique('Open source'),
      visibility: 'public',
    })
    a.paths['/api/notes/public/:slug'] = note.body.slug
    for (const noun of ['skills', 'agents']) {
      const made = await a.owner.fetch<{ id: string; slug: string }>('POST', `/api/${noun}`, {
        name: unique('Open'),
        scope: 'public',
      })
      a.paths[`/api/${noun}/public/:slug`] = made.body.slug
      // The list of both kinds: its rows are of the kind `skill`.
      if (noun === 'skills')
        for (const who of ['admin', 'public']) a.paths[`/api/${who}/marketplace/:kind/:id`] = made.body.id
    }
    Object.assign(a.paths, await openSite(a, admin))
    a.paths['/api/public/projects/:user/:slug'] = project.body.slug
    const doc = { title: unique('Manual'), scope: 'public', projectId: project.body.id }
    a.paths['/api/public/docs/:team/:project'] = project.body.slug
    a.paths['/api/public/docs/:team/:project/:slug'] = (
      await a.owner.fetch<{ slug: string }>('POST', '/api/notes', doc)
    ).body.slug
  })

  /** Publishes texts of the site, sets what the tracker needs, and returns the paths of what visitors read. */
  async function openSite({ owner, viewer }: World, by: Person): Promise<Record<string, string>> {
    const emailVerifiedAt = new Date().toISOString()
    await t.app.db
      .update(users)
      .set({ emailVerifiedAt })
      .where(inArray(users.id, [owner.userId, viewer.userId]))
    await by.fetch('PATCH', '/api/admin/settings/tracker', { repositories: ['tutti/tutti'], token: EXAMPLE_TOKEN })
    const paths: Record<string, string> = { '/api/public/settings/:key': 'general' }
    for (const noun of ['pages', 'posts']) {
      const text = { title: unique('Open'), status: 'published' }
      const made = await by.fetch<{ slug: string }>('POST', `/api/admin/${noun}`, text)
      paths[`/api/public/${noun}/:slug`] = made.body.slug
    }
    // An administrator deletes one, and its author the other.
    for (const who of ['/admin', '']) {
      const text = { title: unique('Hello'), content: 'All' }
      const { id } = (await owner.fetch<{ id: string }>('POST', '/api/community/posts', text)).body
      await by.fetch('PATCH', `/api/admin/community/posts/${id}`, { status: 'visible' })
      paths[`/api${who}/community/posts/:id`] = id
      paths['/api/public/community/posts/:id'] = id
    }
    return paths
  }

  const device = async () =>
    (await call<{ deviceCode: string; userCode: string }>(t, 'POST', '/api/auth/device/request', {})).body

  const codeReader = newAddress()
  /** Of the browser that asked for a link. */
  let cookies: Record<string, string> = {}

  /** What the example of the document cannot know. */
  const special: Record<string, (who: Person) => Promise<object> | object> = {
    'POST /api/setup': async () => ({
      email: `${unique('first')}@example.com`,
      token: await accounts.issueSetupToken(systemCtx(t), {}),
    }),
    'POST /api/tasks/batch': () => ({ tasks: [{ id: a.fields.parentId }], change: { addLabels: ['batch'] } }),
    'POST /api/tasks/:id/relations': () => ({ task: a.fields.parentId }),
    'POST /api/auth/register': () => ({ email: `${unique('new')}@example.com` }),
    'POST /api/auth/login': () => ({ email: a.owner.email, password: PASSWORD }),
    'POST /api/auth/refresh': () => ({ refreshToken: a.owner.refreshToken }),
    'POST /api/auth/otp/verify': async () => ({ email: codeReader, code: await codeFor(t, codeReader) }),
    'POST /api/auth/magic-link/code': async () => ({ token: (await linkFor(t, newAddress())).token }),
    'POST /api/auth/magic-link/verify': async () => {
      const { token, browser } = await linkFor(t, newAddress())
      cookies = browser
      return { token }
    },
    'POST /api/auth/device/poll': async () => {
      const { deviceCode, userCode } = await device()
      await a.owner.fetch('POST', '/api/auth/device/approve', { userCode })
      return { deviceCode }
    },
    'POST /api/auth/device/approve': async () => ({ userCode: (await device()).userCode }),
    'POST /api/auth/api-key-exchange': () => ({ email: a.owner.email, password: PASSWORD }),
    'POST /api/auth/reset-password': async () => ({ token: await resetLink(t, (await provedPerson(t)).email) }),
    'POST /api/auth/confirm-account': async () => {
      const asked = await askByCode(t, await person(t))
      cookies = browserOf(asked)
      return { ticket: asked.body.ticket, password: undefined, keep: undefined, remove: true }
    },
    'POST /api/auth/reauth': () => ({ password: PASSWORD, code: undefined }),
    'POST /api/auth/verify-email': () => ({ token: undefined }),
    'POST /api/auth/email-change': () => ({ email: newAddress() }),
    'POST /api/auth/email-change/confirm': async (who) => ({ token: await changeLink(t, who, newAddress()) }),
    'POST /api/auth/email-change/undo': async () => {
      const who = await provedPerson(t)
      await post(t, 'email-change/confirm', { token: await changeLink(t, who, newAddress()) }, who.token)
      return { token: await linkTo(t, who.email, 'email_undo') }
    },
    'POST /api/auth/passkey/register/finish': (who) => newPasskey(t.app.url, who),
    'POST /api/auth/passkey/authenticate/finish': () => passkeySignIn(),
    'DELETE /api/auth/account': (who) => ({ confirm: who.email }),
    'POST /api/invites/preview': () => ({ token: a.paths['/api/invites/:token'] }),
    'PATCH /api/auth/profile': () => ({ handle: unique('ada') }),
    'PATCH /api/settings/profile': () => ({ handle: unique('ada') }),
    'POST /api/admin/teams/:id/members': async () => ({ userId: (await person(t)).userId }),
    'PUT /api/projects/:slug': () => ({ key: 'ENG' }),
    'PATCH /api/projects/:slug': () => ({ key: 'ENGI' }),
    'POST /api/sync/carry': () => bundle(),
    'POST /api/sync/import': (who) => exportedNote(who),
  }

  /** A bundle of a device that has changed nothing yet. */
  function bundle(): object {
    const keys = keysOf(newSeeds())
    const device = exportPublicKey(keys.signing)
    const head = { direction: 'out' as const, number: 1, device, name: 'laptop', server: '', user: '', at: '' }
    const file = packBundle(head, [{ schema: '2026-11-16', platform: 'linux x64' }], keys, undefined)
    return { bundle: file.toString('base64'), fingerprint: keyFingerprint(device) }
  }

  /** A note as an export has it, with another id. */
  async function exportedNote(who: Person): Promise<object> {
    const { text } = (await who.fetch<{ text: string }>('GET', '/api/sync/export?format=ndjson')).body
    const lines = text.trim().split('\n')
    const note = lines.map((line) => JSON.parse(line)).find(({ entity }) => entity === 'note')
    const record = { ...note.record, id: newId(), slug: unique('imported') }
    return { people: [], records: [{ entity: 'note', record }] }
  }

  /** The passkey of somebody, asked for a challenge. */
  async function passkeySignIn(): Promise<object> {
    const who = await person(t)
    const key = new Authenticator(t.app.url)
    const adding = (await who.fetch<Challenge>('POST', '/api/auth/passkey/register/begin', {})).body
    await who.fetch('POST', '/api/auth/passkey/register/finish', {
      sessionId: adding.sessionId,
      response: key.create(adding.options),
    })
    const { sessionId, options } = (await call<Challenge>(t, 'POST', '/api/auth/passkey/authenticate/begin', {})).body
    return { sessionId, response: key.get(options) }
  }
  interface Challenge {
    sessionId: string
    options: Record<string, unknown>
  }

  /** They need a provider; test/features/oauth.test.ts has some. */
  const elsewhere = new Set([
    // test/live: it opens a WebSocket.
    '/api/ws',
    // test/features/tunnels.test.ts: they need a machine.
    '/api/tunnels/claim',
    '/api/tunnels/enter',
    '/api/tunnels/heartbeat',
    '/api/tunnels/reverse',
    '/api/tunnels/:id/ws',
    '/api/auth/oauth/:provider',
    '/api/auth/oauth/:provider/callback',
    // test/features/notification-rules.test.ts: it needs a mail server.
    '/api/notifications/daily-mail',
    // test/features/site.test.ts: it needs APP_URL.
    '/api/admin/settings/generate-sitemap',
    // test/features/admin-operations.test.ts: it needs a mail server.
    '/api/admin/outbox/:id/resend',
  ])

  /** Parameters that name rows. */
  const queries: Record<string, () => string> = {
    'GET /api/sync/pull': () => `?deviceId=${a.fields.deviceId}`,
    'POST /api/uploads': () => `?recordId=${a.fields.recordId}`,
  }

  /** Open to everybody, but what is asked for here is not. */
  const unpublished = new Set(['GET /api/uploads/:id'])

  /** Calling these signs the caller out. */
  const leaving = new Set([
    '/api/auth/logout',
    '/api/auth/change-password',
    '/api/auth/email-change/confirm',
    '/api/auth/account',
  ])

  /** Nobody reports their own post. */
  const callerOf = (route: RouteLike): Person => (route.path === '/api/community/posts/:id/report' ? a.viewer : a.owner)

  /** The set-up link is for an instance that nobody is in charge of. */
  async function withoutAdmins<T>(work: () => Promise<T>): Promise<T> {
    const { rows } = await t.app.driver.query(`update users set role = 'user' where role = 'admin' returning id`)
    try {
      return await work()
    } finally {
      await t.app.driver.query(`update users set role = 'admin' where id = any($1::uuid[])`, [`{${rows.join(',')}}`])
    }
  }

  /** Reads before writes, an archive after what is put into it, the deepest deletions first, a team last, then signing out. */
  const order = (route: RouteLike): string => {
    const rank =
      route.path === '/api/auth/logout'
        ? 4
        : route.method === 'DELETE'
          ? route.path === '/api/teams/:id' || route.path === '/api/projects/:slug'
            ? 3.5
            : // Before what it ties is gone.
              route.path === '/api/links' || route.path.startsWith('/api/tasks/:id')
              ? 2.5
              : 3
          : /archive|restore/.test(route.path)
            ? 2
            : isWrite(route)
              ? 1
              : 0
    return [rank, 9 - route.path.split('/').length, route.path].join(' ')
  }

  /** Writes of records by which nothing was told to those who see the record: the activity feed, live streams and search live on that. */
  const silent: string[] = []
  async function listen(route: RouteLike, answer: Answer): Promise<void> {
    if (!isWrite(route) || !ruleOf(route).scope || answer.status > 299) return
    const told = await t.app.driver.query('select 1 from events where request_id = $1 and type <> action', [
      answer.headers.get('x-request-id'),
    ])
    if (told.rows.length === 0) silent.push(nameOf(route))
  }

  test('every route does and returns what its operation says', async () => {
    const wrong = new Failures()
    for (const route of routes
      // A backup needs a folder for it, as test/features/admin-operations.test.ts has one.
      .filter((r) => !elsewhere.has(r.path) && nameOf(r) !== 'POST /api/admin/backups')
      .toSorted((x, y) => (order(x) < order(y) ? -1 : 1))) {
      const good = Number(Object.keys(operationOf(route).responses).find((status) => status.startsWith('2')))
      // The one there was has been accepted.
      if (route.path === '/api/invites/:token/decline') a.paths['/api/invites/:token'] = await invitation(t, a.owner)
      if (route.path === '/api/workspace-invites/:id/decline')
        a.paths['/api/workspace-invites/:id'] = await workspaceInvitation(t, a.owner)
      const body = bodyOf(route, a)
      const who = ruleOf(route).admin ? admin : leaving.has(route.path) ? await person(t) : callerOf(route)
      const sent = body instanceof FormData ? body : body && { ...body, ...(await special[nameOf(route)]?.(who)) }
      const path = fillPath(route.path, a) + (queries[nameOf(route)]?.() ?? '')
      const call = () =>
        callRoute(route, isPublic(route) && !unpublished.has(nameOf(route)) ? undefined : who, path, sent, cookies)
      const answer = route.path === '/api/setup' ? await withoutAdmins(call) : await call()
      wrong.check(nameOf(route), answer, good)
      await listen(route, answer)
      const location = answer.headers.get('location')
      // What was made has an address; a session has none, nor has a message that its sender cannot read again.
      const isAt = !answer.body.token && route.path !== '/api/public/contact'
      if ((good === 201 && isAt && !location) || (location && good !== 201))
        wrong.list.push(`${nameOf(route)}: Location ${location}`)
      // A comment is found where it was sent to.
      if (
        location &&
        answer.body.id &&
        !location.endsWith(`/${answer.body.id}`) &&
        location !== fillPath(route.path, a)
      )
        wrong.list.push(`${nameOf(route)}: Location ${location} is not of ${answer.body.id}`)
    }
    expect(wrong.list).toEqual([])
  })

  test('every change of a record emits an event', () => {
    // These change nothing here: nothing is deleted, nobody holds the task, there is no next one, no job runs, a number was asked for, a file only made or uploaded before its record.
    expect(silent.filter((name) => !/\/(restore|release|next|clear|agents-md|pending|stop)$/.test(name))).toEqual([])
  })

  test('every response matches the document', () => {
    expect(undocumentedResponses).toEqual([])
  })
})
