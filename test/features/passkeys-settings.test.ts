import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Passkey, PasskeyPage } from '../../src/features/passkeys/schema.ts'
import { users } from '../../src/features/users/table.ts'
import { call, person, type TestApp, testApp } from '../support/app.ts'
import { Authenticator } from '../support/authenticator.ts'
import {
  add,
  authenticator,
  type Begun,
  begin,
  beginLogin,
  finish,
  finishLogin,
  holder,
  prove,
  signIn,
  t,
} from './passkeys-support.ts'
import { expectEvents, expectRefusal, statuses, TestClock, watch } from './support.ts'

describe('passkeys and time', () => {
  const clock = new TestClock()
  let own: TestApp
  beforeAll(async () => {
    own = watch(await testApp({ background: 'off' }, clock.now))
  })
  afterAll(() => own.close())

  test('expire a challenge after five minutes', async () => {
    const { who, key } = await holder(own)
    const [login, late] = [await beginLogin(own), await beginLogin(own)]
    clock.forward({ minutes: 4, seconds: 59 })
    const adding = await begin(who)
    expect((await finishLogin({ sessionId: login.sessionId, response: key.get(login.options) }, own)).status).toBe(200)
    clock.forward({ seconds: 1 })
    await expectRefusal(
      own,
      await finishLogin({ sessionId: late.sessionId, response: key.get(late.options) }, own),
      410,
      'gone',
    )
    clock.forward({ minutes: 4, seconds: 59 })
    const response = authenticator(own).create(adding.options)
    await expectRefusal(own, await finish(who, { sessionId: adding.sessionId, response }), 410, 'gone')
  })

  test('need a confirmation of identity within five minutes to add, rename or remove, but not to list', async () => {
    const { who, key, passkey } = await holder(own)
    clock.forward({ minutes: 5, seconds: 1 })
    const path = `/api/settings/passkeys/${passkey.id}`
    await expectRefusal(own, await who.fetch('POST', '/api/auth/passkey/register/begin', {}), 403, 'forbidden.reauth')
    await expectRefusal(own, await who.fetch('PATCH', path, { name: 'x' }), 403, 'forbidden.reauth')
    await expectRefusal(own, await who.fetch('DELETE', path), 403, 'forbidden.reauth')
    expect((await who.fetch<PasskeyPage>('GET', '/api/settings/passkeys')).body.items).toMatchObject([
      { id: passkey.id },
    ])
    const fresh = (await signIn(key, {}, own)).body
    expect((await call(own, 'PATCH', path, { name: 'x' }, { authorization: `Bearer ${fresh.token}` })).status).toBe(200)
  })
})

test('the relying party comes from APP_URL, whatever the request claims', async () => {
  const own = watch(await testApp({ APP_URL: 'https://tutti.example.com', background: 'off' }))
  const who = await person(own)
  const claims = { host: 'localhost', origin: 'http://localhost' }
  const { body } = await who.fetch<Begun>('POST', '/api/auth/passkey/register/begin', {}, claims)
  expect(body.options.rp.id).toBe('tutti.example.com')
  const from = (site: string) => new Authenticator(site).create(body.options, { rpId: 'tutti.example.com' })
  for (const site of ['http://tutti.example.com', 'https://app.tutti.example.com', own.url, 'http://localhost'])
    expect((await finish(who, { sessionId: (await begin(who)).sessionId, response: from(site) })).status).toBe(422)
  const right = await begin(who)
  const key = new Authenticator('https://tutti.example.com')
  expect((await finish(who, { sessionId: right.sessionId, response: key.create(right.options) })).status).toBe(201)
  await own.close()
})

describe('existing passkeys', () => {
  test('are renamed by their owner at the version that was read', async () => {
    const { who, passkey } = await holder()
    const grace = await person(t)
    const path = `/api/settings/passkeys/${passkey.id}`
    await expectRefusal(t, await grace.fetch('PATCH', path, { name: 'mine' }), 404, 'not_found')
    await expectRefusal(t, await who.fetch('PATCH', path, { counter: 0 }), 422, 'invalid')
    const renamed = await who.fetch<Passkey>('PATCH', path, { name: ' blue key ' }, { 'if-match': '"1"' })
    expect(renamed.body).toMatchObject({ name: 'blue key', version: 2 })
    await expectEvents(t, renamed, 'passkey.updated')
    const late = await who.fetch('PATCH', path, { name: 'red key' }, { 'if-match': '"1"' })
    expect((await expectRefusal(t, late, 412, 'version_mismatch')).current).toMatchObject({ name: 'blue key' })
  })

  test('are removed by their owner, and then do not sign in', async () => {
    const { who, key, passkey } = await holder()
    const path = `/api/settings/passkeys/${passkey.id}`
    await expectRefusal(t, await (await person(t)).fetch('DELETE', path), 404, 'not_found')
    const gone = await who.fetch('DELETE', path)
    expect(gone.body).toEqual({ id: passkey.id, deleted: true })
    await expectEvents(t, gone, 'passkey.deleted')
    expect((await signIn(key)).status).toBe(401)
    await expectRefusal(t, await who.fetch('DELETE', path), 404, 'not_found')
  })

  test('cannot be removed if they are the last way to sign in', async () => {
    const { who, passkey } = await holder()
    const second = (await add(who, authenticator())).body
    await t.app.db.update(users).set({ passwordHash: null }).where(eq(users.id, who.userId))
    const remove = (id: string) => who.fetch('DELETE', `/api/settings/passkeys/${id}`)
    // Two at the same moment: each would see the other one stay.
    const both = await Promise.all([remove(passkey.id), remove(second.id)])
    expect(statuses(both)).toEqual([200, 409])
    const left = (await who.fetch<PasskeyPage>('GET', '/api/settings/passkeys')).body.items
    expect(left).toHaveLength(1)
    await expectRefusal(t, await remove(left[0]?.id as string), 409, 'conflict.last_way')
    // Codes go to a proved address.
    await prove(who)
    expect((await remove(left[0]?.id as string)).status).toBe(200)
  })
})
