import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { ApiKeyCreated } from '../../src/features/tokens/schema.ts'
import { users } from '../../src/features/users/table.ts'
import { dump } from '../contract/tables.ts'
import { call, logged, PASSWORD, person, sharedApp, type TestApp } from '../support/app.ts'
import { bearer, login, me, newAddress, post } from './accounts-support.ts'
import { expectEvent, expectRefusal, statuses, times, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

describe('POST /api/auth/api-key-exchange', () => {
  const exchange = (at: TestApp, body: object) => post<ApiKeyCreated>(at, 'api-key-exchange', body)

  test('returns a working key once, and records the person as its creator', async () => {
    const ada = await person(t)
    const made = await exchange(t, {
      email: ada.email.toUpperCase(),
      password: PASSWORD,
      name: 'script',
      scopes: ['account:read'],
      expiresInDays: 7,
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/settings/api-keys/${made.body.id}`)
    expect(made.body).toMatchObject({ name: 'script', scopes: ['account:read'], organizationId: null, prefix: 'svc_' })
    expect(await expectEvent(t, made, 'api_key.created')).toMatchObject({
      userId: ada.userId,
      actor: { id: ada.userId },
    })
    const token = made.body.token as string
    expect((await me(t, token)).body.id).toBe(ada.userId)
    expect((await call(t, 'GET', '/api/notes', undefined, bearer(token))).status).toBe(403)
    expect((await ada.fetch('GET', '/api/settings/api-keys')).body.items).toMatchObject([
      { id: made.body.id, last4: token.slice(-4) },
    ])
    const plain = await exchange(t, { email: ada.email, password: PASSWORD })
    expect(plain.body).toMatchObject({ name: 'API key', scopes: ['write'] })
    expect(await dump(t.app.driver)).not.toContain(token)
    expect(logged.join('\n')).not.toContain(token)
  })

  test('answers wrong passwords as a login does, and counts them as failed logins', async () => {
    const ada = await person(t)
    const wrong = { email: ada.email, password: 'not the password at all' }
    const [there, here] = [await post(t, 'login', wrong), await exchange(t, wrong)]
    const plain = ({ status, body }: { status: number; body: object }) => ({
      status,
      ...body,
      requestId: '',
      instance: '',
    })
    expect(plain(here)).toEqual(plain(there))
    expect(plain(await exchange(t, { ...wrong, email: newAddress() }))).toEqual(plain(there))
    expect(statuses(await Promise.all(times(5, () => exchange(t, wrong))))).toEqual([401, 401, 401, 429, 429])
    expect((await exchange(t, { email: ada.email, password: PASSWORD })).status).toBe(429)
    expect((await login(t, ada.email)).status).toBe(429)
  })

  test('refuses a suspended account and an unknown scope', async () => {
    const ada = await person(t)
    const body = { email: ada.email, password: PASSWORD }
    await expectRefusal(t, await exchange(t, { ...body, scopes: ['nonsense:read'] }), 422, 'invalid')
    await t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.id, ada.userId))
    expect((await exchange(t, body)).status).toBe(401)
  })
})
