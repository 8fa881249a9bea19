import { beforeAll, describe, expect, test } from 'bun:test'
import { newSecret } from '../../src/auth/secrets.ts'
import { isUpload, type RouteLike } from '../../src/http/openapi.ts'
import { call, PASSWORD, type Person, person, unique } from '../support/app.ts'
import { callRoute, isPublic, nameOf, routes, t, undocumentedResponses } from './ask.ts'
import { bodyOf, buildWorld, fillPath, type World } from './world.ts'

/** What a call without a credential leaves in the audit log, which is kept for a year. */
let a: World
let known: Person
beforeAll(async () => {
  a = await buildWorld(t)
  known = await person(t)
})

const last = async (): Promise<number> => Number((await t.app.driver.query('select max(seq) from events')).rows[0]?.[0])
const since = async (seq: number): Promise<string[]> =>
  (
    await t.app.driver.query("select type from events where seq > $1 and actor_kind = 'anonymous' order by seq", [seq])
  ).rows.map(([type]) => String(type))

/** A code that looks right and that nobody was given, wherever a secret is asked for. */
const secrets = { token: newSecret('once'), refreshToken: newSecret('refresh'), deviceCode: 'x'.repeat(43) }
const stranger = (): string => `${unique('nobody')}@example.com`

/** Bodies as a stranger would send them: as documented, for an address that has no account, and with made-up secrets. */
function bodies(route: RouteLike): unknown[] {
  if (!route.hooks.body || isUpload(route.hooks)) return [undefined]
  const example = bodyOf(route, a) as Record<string, unknown>
  const invented = Object.entries(secrets).filter(([name]) => name in example)
  const body = {
    ...example,
    ...Object.fromEntries(invented),
    ...('email' in example && { email: stranger() }),
  }
  return [body, body, {}]
}

describe('a call without a credential', () => {
  const anonymous = routes.filter(isPublic)
  const creating = ['POST /api/auth/register']

  test('leaves no audit entry, whatever it requests', async () => {
    expect(anonymous.length).toBeGreaterThan(30)
    const found: string[] = []
    for (const route of anonymous.filter((r) => !creating.includes(nameOf(r)))) {
      const before = await last()
      for (const body of bodies(route)) await callRoute(route, undefined, fillPath(route.path, a), body)
      for (const type of await since(before)) found.push(`${nameOf(route)}: ${type}`)
    }
    expect(found).toEqual([])
  })

  test('leaves no audit entry for a sign-in that is never finished', async () => {
    const before = await last()
    const { body: device } = await call(t, 'POST', '/api/auth/device/request', { clientName: 'laptop' })
    for (let i = 0; i < 3; i++) await call(t, 'POST', '/api/auth/device/poll', { deviceCode: device.deviceCode })
    const { body: begun } = await call(t, 'POST', '/api/auth/passkey/authenticate/begin', {})
    const response = { id: 'x', rawId: 'x', type: 'public-key', response: {}, clientExtensionResults: {} }
    await call(t, 'POST', '/api/auth/passkey/authenticate/finish', { sessionId: begun.sessionId, response })
    expect(await since(before)).toEqual([])
  })

  test('leaves an audit entry about an existing account, as often as the rate limits allow', async () => {
    const reasons: [type: string, path: string, body: object][] = [
      // Five wrong passwords in 15 minutes.
      ['auth.sign_in_failed', '/api/auth/login', { email: known.email, password: 'wrong wrong wrong' }],
      // Ten mails a day to one address.
      ['auth.code_requested', '/api/auth/otp/send', { email: known.email }],
      // Five wrong answers to a code that was sent.
      ['auth.sign_in_failed', '/api/auth/otp/verify', { email: known.email, code: '000000' }],
      // Five registrations in an hour from one network.
      ['user.registered', '/api/auth/register', { email: stranger(), password: PASSWORD, name: 'Grace' }],
    ]
    for (const [type, path, body] of reasons) {
      const before = await last()
      await call(t, 'POST', path, body)
      expect([path, await since(before)]).toEqual([path, [type]])
    }
    const other = await person(t)
    const before = await last()
    await call(t, 'POST', '/api/auth/otp/verify', { email: other.email, code: '000000' })
    expect(await since(before)).toEqual([])
  })
})

test('every response in this file matches the OpenAPI document', () => {
  expect(undocumentedResponses).toEqual([])
})
