import { beforeAll, describe, expect, test } from 'bun:test'
import { check } from '../../src/check.ts'
import { exampleOf, isUpload, type RouteLike } from '../../src/http/openapi.ts'
import type { TSchema } from '../../src/schema.ts'
import { type Person, person } from '../support/app.ts'
import {
  callRoute,
  errorsOf,
  Failures,
  isPublic,
  nameOf,
  operationOf,
  properties,
  routes,
  ruleOf,
  t,
  undocumentedResponses,
  whoMayCall,
} from './ask.ts'
import { columnNames } from './tables.ts'
import { bodyOf, buildWorld, fillPath, type World } from './world.ts'

/**
 * What is refused before any query, by every route of the running server: requests without a credential, and bodies
 * that do not fit their schema. A new route is covered without an edit here.
 */
let a: World
let admin: Person
beforeAll(async () => {
  a = await buildWorld(t)
  admin = await person(t, { admin: true })
})

const allowedCaller = (route: RouteLike) => whoMayCall(route, a, admin)
/** Forms with a file have tests of their own: test/features/uploads.test.ts. */
const withBody = routes.filter((route) => route.hooks.body && !isUpload(route.hooks))

test('the loop covers many routes', () => {
  expect(withBody.length).toBeGreaterThan(10)
})

test('a request without a credential gets 401 before anything else is checked', async () => {
  const wrong = new Failures()
  const problems: string[] = []
  for (const route of routes.filter((r) => !isPublic(r))) {
    const path = fillPath(route.path, a)
    const asked = [
      await callRoute(route, undefined, path),
      await callRoute(route, undefined, `${path}?surprise=1`),
      ...(/:\w+$/.test(route.path) ? [await callRoute(route, undefined, path.replace(/[^/]+$/, '%00'))] : []),
      await callRoute(route, undefined, path, undefined, { authorization: 'Bearer svc_made_up' }),
      await callRoute(route, undefined, path, undefined, { authorization: 'Basic YWRhOmFkYQ==' }),
      // Without a credential, the body is not read.
      ...(route.hooks.body
        ? [
            await callRoute(route, undefined, path, '{"broken'),
            await callRoute(route, undefined, path, { surprise: 1 }),
          ]
        : []),
    ]
    for (const answer of asked) {
      wrong.check(nameOf(route), answer, 401)
      const told = answer.headers.get('www-authenticate')
      if (told !== 'Bearer realm="tutti"' || answer.body.code !== 'unauthenticated')
        problems.push(`${nameOf(route)}: ${told} ${answer.body.code}`)
    }
  }
  expect(wrong.list).toEqual([])
  expect(problems).toEqual([])
})

describe('validation of a body', () => {
  test('accepts the documented example of every body', () => {
    for (const route of withBody)
      expect([nameOf(route), check(route.hooks.body as TSchema, exampleOf(route.hooks.body as TSchema))]).toEqual([
        nameOf(route),
        [],
      ])
  })

  test('refuses an unknown field and names it', async () => {
    const wrong = new Failures()
    for (const route of withBody) {
      const answer = await callRoute(route, allowedCaller(route), fillPath(route.path, a), {
        ...bodyOf(route, a),
        surprise: 1,
      })
      wrong.check(nameOf(route), answer, 422)
      const { pointer, code } = errorsOf(answer)[0] ?? {}
      if (pointer !== '/surprise' || code !== 'unknown_field')
        wrong.list.push(`${nameOf(route)}: does not name /surprise but ${pointer} ${code}`)
    }
    expect(wrong.list).toEqual([])
  })

  test('refuses columns that the schema does not name', async () => {
    const columns = (await columnNames(t.app.driver)).flatMap((name) => [
      name,
      name.replace(/_(\w)/g, (_, c: string) => c.toUpperCase()),
    ])
    const names = [
      ...new Set([...columns, 'ownerId', 'createdBy', 'admin', 'verified', 'constructor', 'prototype', 'toString']),
    ]
    const common = [
      'id',
      'passwordHash',
      'password_hash',
      'role',
      'version',
      'createdById',
      'organizationId',
      'ownerId',
      'constructor',
    ]
    expect(names).toEqual(expect.arrayContaining(common))
    const missed: string[] = []
    for (const route of withBody) {
      const own = new Set(properties(route.hooks.body).map(([name]) => name))
      const foreign = names.filter((name) => !own.has(name))
      const schema = route.hooks.body as TSchema
      const withAll = (sent: readonly string[]) =>
        JSON.parse(JSON.stringify({ ...bodyOf(route, a), ...Object.fromEntries(sent.map((name) => [name, null])) }))
      const answered = async (sent: readonly string[]) => {
        const answer = await callRoute(route, allowedCaller(route), fillPath(route.path, a), withAll(sent))
        return answer.status === 422 ? errorsOf(answer) : []
      }
      const miss = (sent: readonly string[], refused: readonly { pointer: string }[]) => {
        const pointers = new Set(refused.map(({ pointer }) => pointer))
        missed.push(...sent.filter((name) => !pointers.has(`/${name}`)).map((name) => `${nameOf(route)} took ${name}`))
      }
      // Elysia checks a request with this schema: one request for each route shows it, and the other names need none,
      // unless the schema is open and the action itself refuses them.
      const isOpen = check(schema, withAll(['surprise'])).length === 0
      const unknown = common.filter((name) => !own.has(name))
      miss(unknown, await answered(unknown))
      // At most twenty errors are named.
      for (let i = 0; i < foreign.length; i += 20) {
        const sent = foreign.slice(i, i + 20)
        miss(sent, isOpen ? await answered(sent) : check(schema, withAll(sent)))
      }
    }
    expect(missed).toEqual([])
  })

  test('requires every required field', async () => {
    const wrong = new Failures()
    for (const route of withBody) {
      const body = bodyOf(route, a) as Record<string, unknown>
      for (const name of ((route.hooks.body as TSchema).required ?? []) as string[]) {
        const { [name]: _, ...rest } = body
        const answer = await callRoute(route, allowedCaller(route), fillPath(route.path, a), rest)
        wrong.check(`${nameOf(route)} without ${name}`, answer, 422)
        if (!errorsOf(answer).some((e) => e.pointer === `/${name}` && e.code === 'required'))
          wrong.list.push(`${nameOf(route)}: does not ask for /${name}`)
      }
    }
    expect(wrong.list).toEqual([])
  })

  test('refuses a value of the wrong type instead of converting it, and points to the field', async () => {
    const values = [42.5, '5', 'true', '', true, null, ['zz'], [['zz']], { zz: 1 }, -1, 1e300]
    const wrong = new Failures()
    let sent = 0
    /** Sends these values, and expects that each is named and nothing else. */
    const refuse = async (route: RouteLike, bad: Record<string, unknown>) => {
      const answer = await callRoute(route, allowedCaller(route), fillPath(route.path, a), {
        ...bodyOf(route, a),
        ...bad,
      })
      const told = `${nameOf(route)} ${JSON.stringify(bad).slice(0, 60)}`
      wrong.check(told, answer, 422)
      const named = new Set(errorsOf(answer).map(({ pointer }) => pointer.split('/')[1]))
      if (!Bun.deepEquals([...named].sort(), Object.keys(bad).sort()))
        wrong.list.push(`${told}: points at ${JSON.stringify(errorsOf(answer))}`)
      sent++
    }
    for (const route of withBody) {
      const most = (route.hooks.detail?.maxBody as number | undefined) ?? Number.POSITIVE_INFINITY
      const fields = properties(route.hooks.body).filter(
        // The value of a field in a conflict may be of any type.
        ([name]) => route.path !== '/api/sync/conflicts/:id/resolve' || name !== 'value',
      )
      const tried = new Set<string>()
      for (const value of values) {
        const names = fields.filter(([, schema]) => check(schema, value).length > 0).map(([name]) => name)
        // All that refuse the value at once, but an answer names at most twenty errors, of which a field may have two.
        for (let i = 0; i < names.length; i += 10)
          await refuse(route, Object.fromEntries(names.slice(i, i + 10).map((name) => [name, value])))
        for (const name of names) tried.add(name)
      }
      for (const [name, schema] of fields) {
        const kinds = [schema, ...((schema.anyOf as TSchema[] | undefined) ?? [])]
        const long = 'x'.repeat(Math.max(1000, ...kinds.map((one) => (one.maxLength as number | undefined) ?? 0)) + 1)
        if (long.length + 2 >= most || check(schema, long).length === 0) continue
        await refuse(route, { [name]: long })
        tried.add(name)
      }
      expect([nameOf(route), [...tried].sort()]).toEqual([nameOf(route), fields.map(([name]) => name).sort()])
    }
    expect(wrong.list).toEqual([])
    expect(sent).toBeGreaterThan(200)
  })

  test('refuses a body that is not an object', async () => {
    const wrong = new Failures()
    for (const route of withBody)
      for (const body of ['null', '[]', '"text"', '1', 'true'])
        wrong.check(
          `${nameOf(route)} ${body}`,
          await callRoute(route, allowedCaller(route), fillPath(route.path, a), body),
          422,
        )
    expect(wrong.list).toEqual([])
  })

  test('treats an absent body as {}', async () => {
    const alone = await person(t)
    const wrong: string[] = []
    let optional = 0
    for (const route of withBody) {
      const needed = check(route.hooks.body as TSchema, {}).length > 0
      if (!needed) optional++
      if (operationOf(route).requestBody?.required !== needed) wrong.push(`${nameOf(route)}: documented otherwise`)
      const who = isPublic(route) ? undefined : ruleOf(route).admin ? admin : alone
      // What is only changed by name is not there, so that nothing is changed and the body was accepted before.
      const path = needed ? fillPath(route.path, a) : route.path.replaceAll(/:\w+/g, () => crypto.randomUUID())
      const [absent, empty] = [await callRoute(route, who, path), await callRoute(route, who, path, {})]
      const [met, expected] = [absent, empty].map(({ status, body: { code, errors } }) => ({ status, code, errors }))
      if (!Bun.deepEquals(met, expected))
        wrong.push(`${nameOf(route)}: ${JSON.stringify(met)} instead of ${JSON.stringify(expected)}`)
    }
    expect(wrong).toEqual([])
    expect(optional).toBeGreaterThan(30)
  })
})

test('every response in this file matches the OpenAPI document', () => {
  expect(undocumentedResponses).toEqual([])
})
