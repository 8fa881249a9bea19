import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Provider } from '../../src/features/oauth/schema.ts'
import { connectedAccounts } from '../../src/features/oauth/table.ts'
import { type TestApp, testApp, unique } from '../support/app.ts'
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

test.each(['oidc', 'github'] as const)('%s: the same subject of another issuer is another person', async (provider) => {
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

test('whose address the other issuer confirms keeps the account, and the new identity replaces the old', async () => {
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

test('a row from before issuers were kept is adopted with its address, and by nobody else', async () => {
  for (const over of [{ verified: false }, { email: `${unique('other')}@example.com` }, { email: undefined }]) {
    const ada = somebody()
    const { body } = await come('oidc', ada)
    await t.app.driver.query('update connected_accounts set issuer = null where user_id = $1', [body.user.id])
    const stranger = await comeOther('oidc', { ...ada, ...over })
    expect([over, stranger.body.user?.id === body.user.id]).toEqual([over, false])
    expect((await rowsOf(body.user.id)).map((row) => row.issuer)).toEqual([null])
    const hers = await come('oidc', { ...ada, email: ada.email.toUpperCase() })
    expect(hers.body.user.id).toBe(body.user.id)
    expect((await rowsOf(body.user.id)).map((row) => row.issuer)).toEqual([at.oidc.url])
    expect(await connected(hers.body.token)).toHaveLength(1)
  }
})
