import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Served, serve } from '../support/binary.ts'
import { type FakeProvider, fakeCodeHost, fakeIssuer } from '../support/providers.ts'
import { newContext } from './support.ts'

/** Signing in elsewhere as people do it. The providers are at 127.0.0.1 and we at localhost: to a browser those are two sites. */
let server: Served
let google: FakeProvider
let github: FakeProvider

beforeAll(async () => {
  google = await fakeIssuer('google')
  github = fakeCodeHost()
  server = await serve({ env: { ...google.settings, ...github.settings } })
}, 300_000)
afterAll(() => server?.stop())

const connected = async (page: Page): Promise<string[]> => {
  const answer = (await page.evaluate(`fetch('/api/settings/connected-accounts').then((r) => r.json())`)) as {
    items: { provider: string }[]
  }
  return answer.items.map((account) => account.provider)
}

async function signIn(name: string): Promise<Page> {
  google.subject = { sub: name, email: `${name}@example.com`, verified: true, name }
  const page = await (await newContext()).newPage()
  await page.goto(`${server.url}/login?next=/settings/accounts`)
  await page.click('text=Continue with Google')
  await page.waitForURL('**/settings/accounts*')
  await page.waitForSelector(`text=${name}@example.com`)
  return page
}

test('a provider signs in with one click and returns to the settings, where a second identity is connected', async () => {
  const page = await signIn('ada')
  expect(new URL(page.url()).pathname).toBe('/settings/accounts')
  expect(await page.evaluate('document.cookie')).toBe('tutti_here=1')
  github.subject = { sub: '1', email: 'ada@elsewhere.example', verified: true, name: 'Ada' }
  await page.click('text=Connect GitHub')
  await page.waitForSelector('text=ada@elsewhere.example')
  expect(new URL(page.url()).pathname).toBe('/settings/accounts')
  expect((await connected(page)).sort()).toEqual(['github', 'google'])
  await page.context().close()
}, 300_000)

test('a new account from a provider starts with onboarding, from the sign-in and the registration page', async () => {
  for (const [at, name] of [
    ['/login', 'grace'],
    ['/register', 'joan'],
  ] as const) {
    github.subject = { sub: String(name === 'joan' ? 1000 : 2000), email: `${name}@example.com`, verified: true, name }
    const page = await (await newContext()).newPage()
    await page.goto(server.url + at)
    await page.click('text=Continue with GitHub')
    await page.waitForURL('**/welcome*')
    await page.context().close()
  }
}, 300_000)

test('a connected identity proves who created an account with an unconfirmed address', async () => {
  github.subject = { sub: '7', email: 'nobody@example.com', verified: false, name: 'Ada' }
  const page = await (await newContext()).newPage()
  await page.goto(`${server.url}/login?next=/settings/accounts`)
  await page.click('text=Continue with GitHub')
  await page.waitForURL('**/settings/accounts*')
  await page.context().clearCookies()
  google.subject = { sub: 'ada-7', email: 'nobody@example.com', verified: true, name: 'Ada' }
  await page.goto(`${server.url}/login?next=/settings/accounts`)
  await page.click('text=Continue with Google')
  await page.waitForSelector('text=Did you create it?')
  await page.click('text=Continue with GitHub')
  await page.waitForURL('**/settings/accounts*')
  expect((await connected(page)).sort()).toEqual(['github', 'google'])
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('svc_')
  await page.context().close()
}, 300_000)

test('refusing at the provider shows a message on the sign-in page', async () => {
  const page = await (await newContext()).newPage()
  await page.goto(`${server.url}/login`)
  google.fault = { error: 'access_denied' }
  await page.click('text=Continue with Google')
  await page.waitForSelector('[role=alert]:has-text("did not allow access")')
  google.fault = {}
  expect(page.url()).toBe(`${server.url}/login`)
  await page.context().close()
}, 300_000)

test('another site cannot make a signed-in user connect its identity', async () => {
  const page = await signIn('victim')
  github.subject = { sub: '666', email: 'mallory@evil.example', verified: true, name: 'Mallory' }
  const evil = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response(`<a href="${server.url}/api/auth/oauth/github?link=1">Win a prize</a>`, {
        headers: { 'content-type': 'text/html' },
      }),
  })
  await page.goto(`http://127.0.0.1:${evil.port}/`)
  await page.click('text=Win a prize')
  await page.waitForURL('**/login**')
  expect(await connected(page)).toEqual(['google'])
  await evil.stop(true)
  await page.context().close()
}, 300_000)
