import { beforeAll, describe, expect, test } from 'bun:test'
import { addMember } from '../../src/features/admin/teams.ts'
import type { RouteLike } from '../../src/http/openapi.ts'
import { routeAction } from '../../src/http/openapi.ts'
import type { TSchema } from '../../src/schema.ts'
import { mcpToken, type Person, person, systemCtx, unique } from '../support/app.ts'
import {
  callRoute,
  Failures,
  isCopy,
  isLive,
  isPublic,
  isWrite,
  keyOf,
  nameOf,
  routes,
  ruleOf,
  t,
  undocumentedResponses,
  withToken,
} from './ask.ts'
import { fingerprint } from './tables.ts'
import { bodyOf, buildWorld, fieldOf, fillPath, idFields, inTeam, paramsOf, type World } from './world.ts'

/** Calls every route as a user without access: nothing is found, nothing is changed. */
let a: World
let b: World
let admin: Person
beforeAll(async () => {
  a = await buildWorld(t)
  b = await buildWorld(t)
  admin = await person(t, { admin: true })
})

/** Runs the loop, and compares every table before and after. */
async function expectUnchanged(loop: (wrong: Failures) => Promise<void>): Promise<void> {
  const before = await fingerprint(t.app.driver)
  expect(Object.keys(before)).toEqual(
    expect.arrayContaining([
      'users',
      'organizations',
      'memberships',
      'projects',
      'notes',
      'api_keys',
      'mcp_tokens',
      'login_sessions',
    ]),
  )
  const wrong = new Failures()
  await loop(wrong)
  expect(wrong.list).toEqual([])
  expect(await fingerprint(t.app.driver)).toEqual(before)
}

/** Rows that belong to the instance and not to a tenant, or that anyone with their unguessable address may see, and words. */
const instance = new Set([
  '/api/docs/:id',
  '/uploads/:id',
  '/api/auth/oauth/:provider',
  '/api/settings/connected-accounts/:provider',
  '/api/settings/integrations/user/:provider',
])
const withIds = routes.filter(
  (route) => route.path.includes(':') && !paramsOf(route.path).every((param) => instance.has(param)),
)
const own = (route: RouteLike) => !ruleOf(route).admin

/** The fields of an answer; of one that has several forms, those of the first. */
const propertiesOf = (schema: TSchema | undefined): Record<string, unknown> =>
  schema?.properties ?? (schema?.anyOf as TSchema[] | undefined)?.[0]?.properties ?? {}

describe("another tenant's ids", () => {
  test('the loop has routes with ids, and records for them', () => {
    expect(withIds.length).toBeGreaterThan(20)
    for (const route of withIds) expect(fillPath(route.path, a)).not.toContain(':')
  })

  test('the owner finds these records', async () => {
    const wrong = new Failures()
    for (const route of withIds.filter((r) => r.method === 'GET' && !isPublic(r) && own(r) && !isLive(r)))
      wrong.check(nameOf(route), await callRoute(route, a.owner, fillPath(route.path, a)), 200)
    expect(wrong.list).toEqual([])
  })

  test('get 404 in the path, and 403 on routes for administrators', () =>
    expectUnchanged(async (wrong) => {
      for (const from of [a, { ...a, paths: { ...a.paths, ...a.also } }])
        for (const route of withIds) {
          const asked = await callRoute(route, b.owner, fillPath(route.path, from), bodyOf(route, b))
          wrong.check(nameOf(route), asked, own(route) ? 404 : 403)
          // A private record looks like a missing one.
          if (isPublic(route))
            wrong.check(
              `${nameOf(route)} as nobody`,
              await callRoute(route, undefined, fillPath(route.path, from)),
              404,
            )
        }
    }))

  test('get 404 for an administrator of the server too', () =>
    expectUnchanged(async (wrong) => {
      // Administrators moderate posts of the community, which belong to no team.
      for (const route of withIds.filter((r) => own(r) && !r.path.includes('/community/')))
        wrong.check(nameOf(route), await callRoute(route, admin, fillPath(route.path, a), bodyOf(route, b)), 404)
    }))

  test('get 404 beside own ids in the path: the ids of a path must belong together', () =>
    expectUnchanged(async (wrong) => {
      const nested = withIds.filter((route) => paramsOf(route.path).length > 1 && own(route))
      expect(nested.length).toBeGreaterThan(1)
      // A number belongs to no tenant.
      for (const route of nested)
        for (const foreign of paramsOf(route.path).filter((param) => !param.endsWith('/:n'))) {
          const path = fillPath(route.path, (param) => (param === foreign ? a : b))
          wrong.check(
            `${nameOf(route)} with foreign ${foreign}`,
            await callRoute(route, b.owner, path, bodyOf(route, b)),
            404,
          )
        }
    }))

  test('get 404 in the body', () =>
    expectUnchanged(async (wrong) => {
      const naming = routes.filter((route) => idFields(route.hooks.body).length > 0)
      expect(naming.length).toBeGreaterThan(3)
      for (const route of naming)
        for (const name of idFields(route.hooks.body)) {
          // It is refused in the same way for every team.
          if (nameOf(route) === 'POST /api/projects/:slug/share' && name === 'organizationId') continue
          // With all fields and with only the required ones, so that no other field causes the refusal.
          const whole = bodyOf(route, b) as Record<string, unknown>
          const needed = Object.fromEntries(
            (((route.hooks.body as TSchema).required ?? []) as string[]).map((field) => [field, whole[field]]),
          )
          for (const body of [whole, needed]) {
            const answer = await callRoute(route, b.owner, fillPath(route.path, b), {
              ...body,
              [name]: fieldOf(a, routeAction(route).id, name),
            })
            wrong.check(`${nameOf(route)} ${name}`, answer, own(route) ? 404 : 403)
          }
        }
    }))

  test('as a filter give an empty list, or 404 where a single record is requested', async () => {
    const wrong = new Failures()
    for (const route of routes.filter(own))
      for (const name of idFields(route.hooks.query)) {
        const path = `${fillPath(route.path, b)}?${name}=${a.fields[name]}`
        const answer = await callRoute(route, b.owner, path, route.method === 'GET' ? undefined : bodyOf(route, b))
        const isList = 'items' in propertiesOf(route.hooks.response as TSchema | undefined)
        wrong.check(`${nameOf(route)} ${name}`, answer, isList ? 200 : 404)
        const { can: _, ...page } = answer.body
        if (isList) expect(page).toEqual({ items: [], nextCursor: null })
      }
    expect(wrong.list).toEqual([])
  })

  test('get 404 as X-Organization-Id, on every route', () =>
    expectUnchanged(async (wrong) => {
      for (const route of routes.filter((r) => !isPublic(r)))
        for (const organization of [a.owner.organizationId, 'zz', ''])
          wrong.check(
            `${nameOf(route)} in ${organization}`,
            await callRoute(route, b.owner, fillPath(route.path, b), bodyOf(route, b), {
              'x-organization-id': organization,
            }),
            404,
          )
    }))

  test('never appear in lists', async () => {
    const words = /^\/api\/docs|:provider$|:kind$|:key$|:n$/
    const foreign = [
      ...Object.values(a.also),
      ...Object.entries({ ...a.paths, ...a.fields }).flatMap(([name, value]) => (words.test(name) ? [] : [value])),
      a.owner.email,
    ]
    for (const route of routes.filter(
      (r) => r.method === 'GET' && !r.path.includes(':') && !isPublic(r) && own(r) && !isLive(r),
    )) {
      const device = route.path === '/api/sync/pull' ? `?deviceId=${b.fields.deviceId}` : ''
      const { status, body } = await callRoute(route, b.owner, route.path + device)
      expect([nameOf(route), status]).toEqual([nameOf(route), 200])
      expect([nameOf(route), foreign.filter((value) => JSON.stringify(body).includes(value))]).toEqual([
        nameOf(route),
        [],
      ])
    }
  })
})

describe('missing permissions', () => {
  const writes = routes.filter((route) => isWrite(route) && !isPublic(route))

  test('a viewer gets 403 for every write', () =>
    expectUnchanged(async (wrong) => {
      const ofTeam = writes.filter((route) => ruleOf(route).role)
      expect(ofTeam.length).toBeGreaterThan(8)
      for (const route of ofTeam)
        wrong.check(nameOf(route), await callRoute(route, a.viewer, fillPath(route.path, a), bodyOf(route, a)), 403)
      // Not 422 or 404: a caller without write access learns nothing from the input.
      for (const route of ofTeam.filter((r) => r.hooks.body))
        wrong.check(nameOf(route), await callRoute(route, a.viewer, fillPath(route.path, a), { surprise: 1 }), 403)
      for (const route of ofTeam)
        wrong.check(nameOf(route), await callRoute(route, a.viewer, fillPath(route.path, b), bodyOf(route, a)), 403)
      // Where the row itself decides: 403 for what a viewer sees, 404 for what only its owner does.
      for (const route of withIds.filter((r) => writes.includes(r))) {
        const personal =
          /api-keys|passkeys|settings\/(sessions|grants)|mcp-tokens|auth\/device|notifications|invites\/:token|workspace-invites|api\/(push|sync|ai|community|public)|\/chat$/.test(
            route.path,
          ) && own(route)
        wrong.check(
          nameOf(route),
          await callRoute(route, a.viewer, fillPath(route.path, a), bodyOf(route, a)),
          personal ? 404 : 403,
        )
      }
    }))

  test('a viewer reads the records of the team', async () => {
    const wrong = new Failures()
    // A work session belongs to its worker, and a token, view, chat or change to its user.
    const isOthers = (r: RouteLike) => /^\/api\/(sessions|mcp-tokens|views|ai|workspace-invites|changes)\//.test(r.path)
    const reads = withIds.filter((r) => !isWrite(r) && !isPublic(r) && own(r) && !isOthers(r) && !isLive(r))
    // Actions on a machine are for members.
    const expected = (r: RouteLike) => (ruleOf(r).role === 'member' ? 403 : 200)
    for (const route of reads)
      wrong.check(nameOf(route), await callRoute(route, a.viewer, fillPath(route.path, a)), expected(route))
    expect(wrong.list).toEqual([])
  })

  test('a read-only key reads, and gets 403 for every write', async () => {
    const key = await keyOf(a.owner, ['read'])
    await expectUnchanged(async (wrong) => {
      for (const route of writes.filter((r) => !isLive(r) && !isCopy(r)))
        wrong.check(nameOf(route), await callRoute(route, key, fillPath(route.path, a), bodyOf(route, a)), 403)
      const reads = routes.filter((r) => !isWrite(r) && !isPublic(r) && !isLive(r) && !isCopy(r))
      for (const route of reads.filter((r) => ruleOf(r).kinds.includes('api_key')))
        wrong.check(nameOf(route), await callRoute(route, key, fillPath(route.path, a), bodyOf(route, a)), 200)
    })
  })

  test('a scope for one resource gives no access to another', async () => {
    for (const scope of ['notes:write', 'projects:write']) {
      const resource = scope.split(':')[0]
      const key = await keyOf(a.owner, [scope])
      await expectUnchanged(async (wrong) => {
        const others = routes.filter(
          (r) => !isPublic(r) && !isLive(r) && !isCopy(r) && ruleOf(r).scope?.split(':')[0] !== resource,
        )
        for (const route of others)
          wrong.check(
            `${nameOf(route)} with ${scope}`,
            await callRoute(route, key, fillPath(route.path, a), bodyOf(route, a)),
            403,
          )
        wrong.check(`its own with ${scope}`, await key.fetch('GET', `/api/${resource}`), 200)
      })
    }
  })

  test('an API key is refused where a person is required', async () => {
    const key = await keyOf(a.owner, ['write'])
    await expectUnchanged(async (wrong) => {
      const personal = writes.concat(routes).filter((r) => !isPublic(r) && !ruleOf(r).kinds.includes('api_key'))
      expect(personal.map(nameOf)).toEqual(
        expect.arrayContaining(['POST /api/settings/api-keys', 'POST /api/mcp-tokens', 'POST /api/auth/logout']),
      )
      for (const route of personal)
        wrong.check(nameOf(route), await callRoute(route, key, fillPath(route.path, a), bodyOf(route, a)), 403)
    })
  })

  test('an MCP token is refused by the web API', async () => {
    const token = withToken(await mcpToken(t, a.owner))
    await expectUnchanged(async (wrong) => {
      for (const route of routes.filter((r) => !isPublic(r)))
        wrong.check(nameOf(route), await callRoute(route, token, fillPath(route.path, a), bodyOf(route, a)), 403)
    })
  })

  test('refresh and set-up tokens are refused as credentials', async () => {
    const wrong = new Failures()
    const me = routes.find((r) => nameOf(r) === 'GET /api/auth/me') as RouteLike
    wrong.check('refresh token', await callRoute(me, withToken(a.owner.refreshToken), '/api/auth/me'), 401)
    wrong.check('access token', await callRoute(me, withToken(a.owner.token), '/api/auth/me'), 200)
    expect(wrong.list).toEqual([])
  })

  test('routes for administrators refuse everyone else', async () => {
    const key = await keyOf(admin, ['write'])
    await expectUnchanged(async (wrong) => {
      const forAdmins = routes.filter((r) => ruleOf(r).admin)
      expect(forAdmins.length).toBeGreaterThan(0)
      expect(forAdmins.map((r) => r.path).filter((path) => !path.startsWith('/api/admin/'))).toEqual([])
      expect(routes.filter((r) => r.path.startsWith('/api/admin/') && !ruleOf(r).admin).map(nameOf)).toEqual([])
      for (const route of forAdmins) {
        wrong.check(nameOf(route), await callRoute(route, a.owner, fillPath(route.path, a), bodyOf(route, b)), 403)
        wrong.check(
          `${nameOf(route)} with an administrator's key`,
          await callRoute(route, key, fillPath(route.path, a), bodyOf(route, b)),
          403,
        )
      }
    })
  })
})

test('a viewer through a shared workspace reads its project, and cannot change it', async () => {
  const team = (await a.owner.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Guests') })).body
  const self = await person(t)
  await addMember(systemCtx(t), { id: team.id, userId: self.userId, role: 'owner' })
  const guest = inTeam(self, team.id)
  const space = (await a.owner.fetch<{ id: string }>('POST', '/api/workspaces', { name: unique('Shared') })).body
  await a.owner.fetch('POST', `/api/workspaces/${space.id}/teams`, { teamId: team.id, role: 'viewer' })
  const project = fillPath('/api/projects/:slug', a)
  await a.owner.fetch('POST', `${project}/share`, { workspaceId: space.id })
  expect((await guest.fetch('GET', project)).status).toBe(200)
  const got = new Map<string, number>()
  await expectUnchanged(async () => {
    for (const route of withIds.filter((r) => isWrite(r) && own(r)))
      got.set(nameOf(route), (await callRoute(route, guest, fillPath(route.path, a), bodyOf(route, a))).status)
  })
  expect(got.get('PATCH /api/tasks/:id')).toBe(403)
  const allowed = [...got].filter(([, status]) => status !== 403 && status !== 404).map(([name]) => name)
  // Its example opens no pull request, so it only shows a text.
  expect(allowed).toEqual(['POST /api/repos/:id/agents-md'])
})

test('every response in this file matches the OpenAPI document', () => {
  expect(undocumentedResponses).toEqual([])
})
