import { expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import type { AnyElysia } from 'elysia'
import { read } from '../../src/action.ts'
import { features } from '../../src/all-features.ts'
import { anyone } from '../../src/auth/policy.ts'
import { type Http, on } from '../../src/http/context.ts'
import { object } from '../../src/schema.ts'
import { buildHttp, type HttpOptions } from '../../src/server/server.ts'
import { sharedApp } from '../support/app.ts'

const wrong = read('wrong.get', anyone, async (): Promise<{ count: number }> => JSON.parse('{"count":"many"}'))
const feature = {
  name: 'wrong',
  routes: (http: Http): AnyElysia =>
    http.get('/api/wrong', ({ ctx }) => wrong(ctx, {}), {
      ...on(wrong, 'Return what does not fit'),
      response: object({ count: Type.Number() }),
    }),
}

/** What a server with these options replies where an action returns something else than its route documents. */
async function reply(options: HttpOptions): Promise<number> {
  const { app } = await sharedApp()
  const list = features as { routes?: (http: Http) => AnyElysia }[]
  list.push(feature)
  try {
    const { server } = buildHttp(app, options)
    return (await server.handle(new Request('http://localhost/api/wrong', { headers: { host: 'localhost' } }))).status
  } finally {
    list.pop()
  }
}

test('responses are checked against their schemas if a test asks for it, and otherwise sent unchecked', async () => {
  expect(await reply({ checkAnswers: true })).toBe(500)
  expect(await reply({})).toBe(200)
})

test('responses are documented whether or not they are checked', async () => {
  const { app, server } = await sharedApp()
  const { routes } = buildHttp(app)
  const documented = (all: readonly { path: string; hooks: { response?: unknown } }[]) =>
    all.filter(({ hooks }) => hooks.response).map(({ path }) => path)
  expect(documented(routes())).toEqual(documented(server.routes))
  expect(documented(routes()).length).toBeGreaterThan(100)
})
