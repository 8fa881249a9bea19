import { beforeAll, describe, expect, test } from 'bun:test'
import type { AnyElysia } from 'elysia'
import { routesPage } from '../../cli/dev/routes.ts'
import { features } from '../../src/all-features.ts'
import { check } from '../../src/check.ts'
import type { Http } from '../../src/http/context.ts'
import { isUpload, type RouteLike } from '../../src/http/openapi.ts'
import type { TSchema } from '../../src/schema.ts'
import { requiredProof } from '../../src/server/policy.ts'
import { buildHttp } from '../../src/server/server.ts'
import { call, type Person, person } from '../support/app.ts'
import { takeSome } from '../support/thorough.ts'
import {
  callRoute,
  errorsOf,
  Failures,
  isPublic,
  isSocket,
  nameOf,
  properties,
  routes,
  ruleOf,
  t,
  undocumentedResponses,
  whoMayCall,
} from './ask.ts'
import { bodyOf, buildWorld, fillPath, paramsOf, type World } from './world.ts'

/** Loops over every route of the running server: a new route is covered without an edit here. */
let a: World
let admin: Person
beforeAll(async () => {
  a = await buildWorld(t)
  admin = await person(t, { admin: true })
})

const allowedCaller = (route: RouteLike) => whoMayCall(route, a, admin)

const decodeOrKeep = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
let turn = 0
/**
 * Returns all hostile values that the schema lets through to the action, and one that it refuses, each time another one:
 * a refusal by the schema is the same for each of them, and so is that of an escape that cannot be decoded.
 */
function worthSending(schema: TSchema | undefined, values: readonly string[]): string[] {
  if (!schema) return [...values]
  const isFine = (value: string) => check(schema, decodeOrKeep(value)).length === 0
  const refused = values.filter((value) => !isFine(value))
  return [...values.filter(isFine), ...(refused.length > 0 ? [refused[turn++ % refused.length] as string] : [])]
}

describe('access to routes', () => {
  test('the loop covers many routes', () => {
    expect(routes.length).toBeGreaterThan(40)
  })

  test('every route has a rule, and the server does not start if one has none', () => {
    const list = features as unknown as { name: string; routes: (http: Http) => AnyElysia }[]
    list.push({ name: 'bare', routes: (http) => http.get('/api/bare', () => 'open to all') })
    try {
      expect(() => buildHttp(t.app)).toThrow('Routes without a policy: GET /api/bare')
    } finally {
      list.pop()
    }
    expect(() => buildHttp(t.app)).not.toThrow()
  })

  test('a public route accepts anyone, even with an expired credential', async () => {
    const wrong = new Failures()
    const open = routes.filter(isPublic)
    expect(open.length).toBeGreaterThan(5)
    for (const route of open) {
      const path = fillPath(route.path, a)
      // Only the input is at fault, or nothing is: reads are public rows or none, writes get a body that says nothing.
      const required = ((route.hooks.body as TSchema | undefined)?.required ?? []) as string[]
      const expected = route.hooks.body ? [401, required.length > 0 ? 422 : 200] : [200, 404]
      const body = route.hooks.body && {}
      for (const authorization of [undefined, 'Bearer svc_made_up', 'Bearer eyJhbGciOiJFZERTQSJ9.e30.AAAA']) {
        const answer = await callRoute(route, undefined, path, body, authorization ? { authorization } : {})
        wrong.check(`${nameOf(route)} with ${authorization}`, answer, expected)
        if (answer.status === 401 && answer.body.detail !== 'The refresh token is not valid. Sign in again.')
          wrong.list.push(`${nameOf(route)}: ${answer.body.detail}`)
      }
    }
    expect(wrong.list).toEqual([])
  })
})

describe('validation of parameters', () => {
  test('refuses an unknown query parameter and names it', async () => {
    const wrong = new Failures()
    for (const route of routes) {
      const answer = await callRoute(
        route,
        allowedCaller(route),
        `${fillPath(route.path, a)}?surprise=1`,
        bodyOf(route, a),
      )
      wrong.check(nameOf(route), answer, 422)
      if (!errorsOf(answer).some((e) => e.pointer === '/surprise'))
        wrong.list.push(`${nameOf(route)}: does not name /surprise`)
    }
    expect(wrong.list).toEqual([])
  })

  test('refuses a query parameter out of its range and names it; hostile values cause no error 500', async () => {
    const wrong = new Failures()
    const listing = routes.filter((route) => route.hooks.query && properties(route.hooks.query).length > 0)
    expect(listing.length).toBeGreaterThan(5)
    for (const route of listing) {
      const path = fillPath(route.path, a)
      // A form is read before the query is checked.
      const form = isUpload(route.hooks) ? bodyOf(route, a) : undefined
      // A WebSocket has no other answer to a plain request.
      const good = isSocket(route) ? 426 : form ? 201 : 200
      for (const [name, schema] of properties(route.hooks.query)) {
        const bad =
          schema.type === 'number'
            ? ['abc', '0', '-1', '1.5', String((schema.maximum as number) + 1), '1e99', 'NaN']
            : schema.type === 'boolean'
              ? ['maybe', '1']
              : schema.enum
                ? ['surprise', '']
                : schema.format
                  ? ['zz', '1', '']
                  : ['x'.repeat((schema.maxLength as number) + 1)]
        for (const value of takeSome(bad)) {
          const answer = await callRoute(
            route,
            allowedCaller(route),
            `${path}?${name}=${encodeURIComponent(value)}`,
            form,
          )
          wrong.check(`${nameOf(route)} ${name}=${value.slice(0, 20)}`, answer, 422)
          if (!errorsOf(answer).some((e) => e.pointer === `/${name}`))
            wrong.list.push(`${nameOf(route)}: does not name /${name}`)
        }
        const hostile = [
          '%00',
          '%ff',
          '%zz',
          '%',
          "';drop table notes;--",
          '%F0%9F%92%A9',
          '{{7*7}}',
          '0000-01-01T00:00:00Z',
          '2026-02-31T00:00:00Z',
          '2026-01-01T00:00:00%2B99:99',
        ]
        for (const value of takeSome([...worthSending(schema, hostile), `a&${name}=b`]))
          wrong.check(
            `${nameOf(route)} ${name}=${value}`,
            await callRoute(route, allowedCaller(route), `${path}?${name}=${value}`, form),
            // The extension of a file's name decides whether the file is accepted.
            form ? [good, 400, 404, 415, 422] : [good, 400, 404, 422],
          )
      }
      const strange = ['__proto__=1', 'constructor=1', '__proto__[admin]=1', 'limit[]=1', 'sort[a]=b', '=', '&&&']
      for (const query of takeSome(strange))
        wrong.check(
          `${nameOf(route)} ?${query}`,
          await callRoute(route, allowedCaller(route), `${path}?${query}`, form),
          [good, 404, 422],
        )
    }
    expect(wrong.list).toEqual([])
  })

  test('refuses a hostile path parameter or returns 404', async () => {
    const wrong = new Failures()
    const hostile = [
      '%00',
      'a%00b',
      '%ff',
      '%zz',
      '%',
      '%2e%2e%2f',
      "'%20or%201=1",
      '%F0%9F%92%A9',
      'x'.repeat(3000),
      'null',
      'undefined',
      '__proto__',
      '00000000-0000-0000-0000-000000000000',
    ]
    for (const route of routes.filter((r) => r.path.includes(':'))) {
      for (const param of paramsOf(route.path)) {
        const schema = properties(route.hooks.params).find(([name]) => param.endsWith(`:${name}`))?.[1]
        for (const value of takeSome(worthSending(schema, hostile))) {
          const path = fillPath(route.path, (p) =>
            p === param ? { ...a, paths: { ...a.paths, [p]: 'HOSTILE' } } : a,
          ).replace('HOSTILE', value)
          wrong.check(
            `${nameOf(route)} ${param}=${value.slice(0, 20)}`,
            await callRoute(route, allowedCaller(route), path, bodyOf(route, a)),
            [404, 422],
          )
        }
      }
    }
    expect(wrong.list).toEqual([])
  })
})

describe('the list of routes', () => {
  test('is complete in docs/routes.md, which `bun cli/dev/routes.ts` writes', async () => {
    expect(await Bun.file('docs/routes.md').text()).toBe(routesPage())
  })

  test('matches the snapshot of routes, rules and actions', () => {
    const lines = routes.map((route) => {
      const rule = ruleOf(route)
      const { kinds, scope, role, admin, account, limited } = rule
      const who = kinds.includes('anonymous') ? 'anyone' : kinds.join('+')
      const id = (route.hooks.detail as { operationId: string }).operationId
      const proof = requiredProof(rule) ?? '-'
      const least = admin ? 'instance admin' : (role ?? '-')
      return [
        nameOf(route).padEnd(46),
        id.padEnd(30),
        who.padEnd(28),
        (scope ?? '-').padEnd(20),
        least.padEnd(14),
        proof.padEnd(8),
        account ? 'unbound' : limited && who !== 'anyone' ? 'limited' : '',
      ]
        .join(' ')
        .trimEnd()
    })
    expect(`\n${lines.join('\n')}\n`).toMatchSnapshot()
  })

  /** Rows of the contract (endpoints.tsv and endpoints-added.md) that exist so far. A row only ever goes in here. */
  const contract = `
    GET /health  GET /health/live  GET /health/ready  GET /metrics  GET /api/openapi.json  GET /api/reference
    GET /api/docs  GET /api/docs/:id  GET /api/public/docs/:team/:project  GET /api/public/docs/:team/:project/:slug
    GET /api/search  GET /api/search/suggestions  POST /api/search/ai  GET /api/search/public
    POST /api/setup  POST /api/auth/register  POST /api/auth/login  POST /api/auth/refresh  POST /api/auth/logout
    GET /api/auth/me  GET /api/auth/me/role  PATCH /api/auth/profile
    POST /api/auth/otp/send  POST /api/auth/otp/verify
    POST /api/auth/magic-link/send  POST /api/auth/magic-link/verify  POST /api/auth/magic-link/code
    POST /api/auth/forgot-password  POST /api/auth/reset-password  POST /api/auth/change-password  POST /api/auth/reauth
    POST /api/auth/verify-email  POST /api/auth/email-change  POST /api/auth/api-key-exchange  DELETE /api/auth/account
    PATCH /api/settings/profile  GET /api/settings/preferences  PATCH /api/settings/preferences
    GET /api/settings/sessions  DELETE /api/settings/sessions/:id
    GET /api/auth/providers  GET /api/auth/oauth/:provider  GET /api/auth/oauth/:provider/callback
    POST /api/auth/passkey/register/begin  POST /api/auth/passkey/register/finish
    POST /api/auth/passkey/authenticate/begin  POST /api/auth/passkey/authenticate/finish
    GET /api/settings/passkeys  PATCH /api/settings/passkeys/:id  DELETE /api/settings/passkeys/:id
    GET /api/settings/connected-accounts  DELETE /api/settings/connected-accounts/:provider
    POST /api/settings/avatar  POST /api/settings/cover  POST /api/team/avatar  GET /uploads/:id
    GET /api/settings/integrations/user  PUT /api/settings/integrations/user/:provider  DELETE /api/settings/integrations/user/:provider
    POST /api/auth/device/request  POST /api/auth/device/poll  GET /api/auth/device/:userCode  POST /api/auth/device/approve
    GET /api/settings/api-keys  POST /api/settings/api-keys  DELETE /api/settings/api-keys/:id
    GET /api/mcp-tokens  POST /api/mcp-tokens  DELETE /api/mcp-tokens/:id
    GET /api/team  PATCH /api/team  GET /api/team/members
    GET /api/teams  POST /api/teams  GET /api/teams/:id  PATCH /api/teams/:id  DELETE /api/teams/:id
    GET /api/teams/:id/members  PATCH /api/teams/:id/members/:userId  DELETE /api/teams/:id/members/:userId
    POST /api/teams/:id/invite  GET /api/teams/:id/invites  DELETE /api/teams/:id/invites/:inviteId
    GET /api/invites  POST /api/invites/:token/accept  POST /api/invites/:token/decline  GET /api/onboarding  POST /api/onboarding
    GET /api/teams/:id/projects  GET /api/teams/:id/features  GET /api/teams/:id/skills  GET /api/teams/:id/agents
    GET /api/teams/:id/analytics  GET /api/teams/:id/activity  GET /api/teams/:id/presence
    GET /api/teams/:id/workspaces  POST /api/teams/:id/workspaces  GET /api/workspaces  POST /api/workspaces  POST /api/workspaces/sync
    GET /api/workspaces/:id  PUT /api/workspaces/:id  PATCH /api/workspaces/:id  DELETE /api/workspaces/:id
    POST /api/workspaces/:id/teams  DELETE /api/workspaces/:id/teams/:teamId  GET /api/workspaces/:id/projects
    POST /api/admin/teams/:id/members
    GET /api/notifications  PATCH /api/notifications/read-all  PATCH /api/notifications/:id/read
    GET /api/issues  POST /api/issues  GET /api/admin/issues  PATCH /api/admin/issues/:id
    GET /api/admin/notifications  POST /api/admin/notifications/send  POST /api/admin/notifications/seed
    GET /api/admin/users  GET /api/admin/users/:id  PATCH /api/admin/users/:id/role  PATCH /api/admin/users/:id/suspend
    PATCH /api/admin/users/:id/unsuspend  GET /api/admin/users/:id/projects  GET /api/admin/users/:id/notes
    GET /api/admin/users/:id/sessions  GET /api/admin/users/:id/teams  GET /api/admin/users/:id/issues  GET /api/admin/users/:id/otp
    POST /api/admin/users/:id/password  POST /api/admin/users/:id/impersonate  POST /api/admin/users/:id/notify
    POST /api/admin/users/:id/subscription  GET /api/admin/teams  GET /api/admin/teams/:id  PATCH /api/admin/teams/:id
    DELETE /api/admin/teams/:id  PATCH /api/admin/teams/:id/members/:user_id  DELETE /api/admin/teams/:id/members/:user_id
    GET /api/admin/audit  GET /api/admin/system  GET /api/admin/outbox
    GET /api/projects  POST /api/projects  GET /api/projects/:slug  PUT /api/projects/:slug  DELETE /api/projects/:slug
    POST /api/projects/:slug/share  DELETE /api/projects/:slug/share  POST /api/projects/:slug/archive  POST /api/projects/:slug/restore
    GET /api/projects/:slug/tree  POST /api/projects/:slug/plan
    GET /api/public/projects/:user/:slug
    GET /api/notes  POST /api/notes  GET /api/notes/:id  PUT /api/notes/:id  DELETE /api/notes/:id  GET /api/notes/public/:slug
    GET /api/projects/:slug/features  POST /api/projects/:slug/features
    GET /api/projects/:slug/features/:id  PUT /api/projects/:slug/features/:id  DELETE /api/projects/:slug/features/:id
    GET /api/features/:id  PATCH /api/features/:id
    POST /api/features/:id/advance  POST /api/features/:id/reviews  POST /api/features/:id/override
    GET /api/repos/github  GET /api/repos  POST /api/repos  GET /api/repos/:id  DELETE /api/repos/:id  POST /api/repos/:id/sync
    GET /api/skills  POST /api/skills  GET /api/skills/:id  PUT /api/skills/:id  DELETE /api/skills/:id  GET /api/skills/public/:slug
    GET /api/agents  POST /api/agents  GET /api/agents/:id  PUT /api/agents/:id  DELETE /api/agents/:id  GET /api/agents/public/:slug
    GET /api/activities  POST /api/activities  GET /api/activities/:id  GET /api/links  POST /api/links  DELETE /api/links`

  test('contains every promised endpoint', async () => {
    const promised = contract.trim().split(/\s{2,}/)
    const known = new Set(routes.map(nameOf))
    const missing: string[] = []
    for (const row of promised) {
      const [method = '', path = ''] = row.split(' ')
      if (known.has(row)) continue
      const { status } = await call(t, method, path)
      if (status === 404 || status === 405) missing.push(row)
    }
    expect(missing).toEqual([])
    expect(promised.length).toBeGreaterThan(48)
  })
})

test('every response in this file matches the OpenAPI document', () => {
  expect(undocumentedResponses).toEqual([])
})
