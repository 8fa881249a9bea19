import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Provider } from '../../src/features/oauth/schema.ts'
import { connectedAccounts } from '../../src/features/oauth/table.ts'
import { call, type TestApp, testApp, unique } from '../support/app.ts'
import { type FakeProvider, fakeCodeHost, fakeIssuer, type Subject } from '../support/providers.ts'
import { at, come, connected, settings, somebody, t } from './oauth-support.ts'

/** The operator sets a provider to another address: an identity belongs to its issuer, not to the provider's name. */
const others: Partial<Record<Provider, FakeProvider>> = {}
const moved: Partial<Record<Provider, TestApp>> = {}
beforeAll(async () => {
  others.oidc = await fakeIssuer('oidc')
  others.github = fakeCodeHost()
  for (const provider of ['oidc', 'github'] as const)
    moved[provider] = await testApp({ ...settings, ...others[provider]?.settings })
})
afterAll(async () => {
  for (const app of Object.values(moved)) await app.close()
})

/** Comes by the other issuer of this provider. */
const comeOther = (provider: 'oidc' | 'github', subject: Subject) => {
  ;(others[provider] as FakeProvider).subject = subject
  return come(provider, subject, { app: moved[provider] })
}
const rowsOf = (userId: string) => t.app.db.select().from(connectedAccounts).where(eq(connectedAccounts.userId, userId))

test.each(['oidc', 'github'] as const)('%s: the same subject at another issuer is another person', async (provider) => {
  const ada = somebody()
  const first = await come(provider, ada)
  const stranger = await comeOther(provider, somebody({ sub: ada.sub }))
  expect([first.status, stranger.status]).toEqual([200, 200])
  expect(stranger.body.user.id).not.toBe(first.body.user.id)
  // Neither with an address that the other issuer does not confirm.
  expect(
    (await comeOther(provider, somebody({ sub: ada.sub, email: ada.email, verified: false }))).body.user?.id,
  ).not.toBe(first.body.user.id)
  expect((await come(provider, ada)).body.user.id).toBe(first.body.user.id)
  expect((await rowsOf(first.body.user.id)).map((row) => row.issuer)).toEqual([at[provider].url])
})

test('a person whose address the new issuer confirms keeps the account with the new identity', async () => {
  const ada = somebody()
  const first = await come('oidc', ada)
  const again = await comeOther('oidc', somebody({ email: ada.email }))
  expect(again.body.user.id).toBe(first.body.user.id)
  const rows = await rowsOf(first.body.user.id)
  expect(rows.map(({ issuer, version }) => [issuer, version])).toEqual([[others.oidc?.url as string, 2]])
  // Of one issuer, an account has one identity only.
  const second = await comeOther('oidc', somebody({ email: ada.email }))
  expect([second.status, second.body.code]).toEqual([409, 'conflict.exists'])
})

test('an identity of a former issuer does not count as a way to sign in when another one is removed', async () => {
  const { body } = await come('oidc', somebody({ verified: false }))
  const linking = { query: '?link=1', headers: { authorization: `Bearer ${body.token}` }, accept: {} }
  expect((await come('github', somebody(), linking)).location).toBe('/settings/accounts')
  expect(await rowsOf(body.user.id)).toHaveLength(2)
  const remove = (app: TestApp) =>
    call(app, 'DELETE', '/api/settings/connected-accounts/github', undefined, linking.headers)
  const refused = await remove(moved.oidc as TestApp)
  expect([refused.status, refused.body.code]).toEqual([409, 'conflict.last_way'])
  expect(await rowsOf(body.user.id)).toHaveLength(2)
  expect((await remove(t)).status).toBe(200)
})

/** Makes a connection as the versions made it that kept no issuer. */
const asBefore = (userId: string) =>
  t.app.driver.query('update connected_accounts set issuer = null where user_id = $1', [userId])
const issuersOf = async (userId: string) => (await rowsOf(userId)).map((row) => row.issuer)
/** Starts servers with these settings, and stops them. */
const serve = async (...all: Record<string, string>[]) => {
  const started = await Promise.all(all.map((one) => testApp({ ...settings, ...one, background: 'on' })))
  for (const app of started) await app.close()
}
const upgrade = async (...all: Record<string, string>[]) => {
  await t.app.driver.query(`delete from meta where key = 'oauth.issuers'`)
  await serve(...all)
}

test.each(['oidc', 'github'] as const)(
  '%s: after an upgrade everyone keeps their account, whatever address they have now',
  async (provider) => {
    const people = [
      somebody({ verified: false }), // never confirmed there
      somebody(),
    ]
    const ids: string[] = []
    for (const person of people) ids.push((await come(provider, person)).body.user.id)
    for (const id of ids) await asBefore(id)
    await upgrade({}, {})
    expect(await Promise.all(ids.map(issuersOf))).toEqual([[at[provider].url], [at[provider].url]])
    const moves = { ...(people[1] as Subject), email: `${unique('moved')}@example.com` }
    expect((await come(provider, people[0] as Subject)).body.user?.id).toBe(ids[0] as string)
    expect((await come(provider, moves)).body.user?.id).toBe(ids[1] as string)
    const stranger = await comeOther(provider, somebody({ sub: people[0]?.sub }))
    expect(ids).not.toContain(stranger.body.user.id)
  },
)

test('an issuer is recognised in every spelling of its address', async () => {
  const ada = somebody({ verified: false })
  const { body } = await come('oidc', ada)
  await asBefore(body.user.id)
  await upgrade({ AUTH_BACKEND_URL: `${at.oidc.url}/.well-known/openid-configuration` })
  expect(await issuersOf(body.user.id)).toEqual([at.oidc.url])
  for (const written of [`${at.oidc.url}/`, `${at.oidc.url}/.well-known/openid-configuration`]) {
    const other = await testApp({ ...settings, AUTH_BACKEND_URL: written })
    expect([written, (await come('oidc', ada, { app: other })).body.user?.id]).toEqual([written, body.user.id])
    await other.close()
  }
})

test('signing in with a provider that was configured after the upgrade creates no second account; the user connects it again', async () => {
  const ada = somebody()
  const { body } = await come('oidc', ada)
  await asBefore(body.user.id)
  await upgrade({ OIDC_CLIENT_ID: '', AUTH_BACKEND_URL: '', AUTH_BACKEND_KEY: '' })
  await serve({})
  expect(await issuersOf(body.user.id)).toEqual([null])
  const moved = { ...ada, email: `${unique('moved')}@example.com` }
  const refused = await come('oidc', moved)
  expect([refused.status, refused.body.code]).toEqual([409, 'conflict.exists'])
  expect(refused.body.detail).toMatch(/sign in another way and connect .* administrator can reset the password/i)
  const { rows } = await t.app.driver.query('select 1 from users where email = $1', [moved.email])
  expect(rows).toEqual([])
  const again = { query: '?link=1', headers: { authorization: `Bearer ${body.token}` }, accept: {} }
  expect((await come('oidc', moved, again)).location).toBe('/settings/accounts')
  expect(await issuersOf(body.user.id)).toEqual([at.oidc.url])
  const hers = await come('oidc', moved)
  expect(hers.body.user.id).toBe(body.user.id)
  expect(await connected(hers.body.token)).toHaveLength(1)
})
