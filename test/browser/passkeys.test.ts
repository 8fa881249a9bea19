import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { CDPSession, Page } from 'playwright-core'
import { PASSWORD, type Served, serve } from '../support/binary.ts'
import { newContext } from './support.ts'

/** The ceremonies as people go through them: a real browser, with an authenticator that the browser plays itself. */
let server: Served

beforeAll(async () => {
  server = await serve()
}, 300_000)
afterAll(() => server?.stop())

interface Visit {
  page: Page
  cdp: CDPSession
  authenticatorId: string
  ask<T = Record<string, unknown>>(method: string, path: string, body?: object): Promise<{ status: number; body: T }>
  /** Both ceremonies, from the first request to the last. */
  add(name: string): Promise<{ status: number; body: Record<string, unknown> }>
  signIn(): Promise<{ status: number; body: { user?: { id: string }; code?: string } }>
}

const ceremonies = `
  window.ask = async (method, path, body) => {
    const answer = await fetch(path, {
      method,
      headers: body ? { 'content-type': 'application/json' } : {},
      body: body && JSON.stringify(body),
    })
    return { status: answer.status, body: await answer.json() }
  }
  window.add = async (name) => {
    const { body } = await ask('POST', '/api/auth/passkey/register/begin', {})
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(body.options)
    const response = (await navigator.credentials.create({ publicKey })).toJSON()
    return ask('POST', '/api/auth/passkey/register/finish', { sessionId: body.sessionId, name, response })
  }
  window.signIn = async () => {
    const { body } = await ask('POST', '/api/auth/passkey/authenticate/begin', {})
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(body.options)
    const response = (await navigator.credentials.get({ publicKey })).toJSON()
    return ask('POST', '/api/auth/passkey/authenticate/finish', { sessionId: body.sessionId, response })
  }`

/** Registers a new person, signed in with a browser of their own. */
async function visit(name: string): Promise<Visit> {
  const context = await newContext()
  await context.addInitScript(ceremonies)
  const page = await context.newPage()
  const cdp = await context.newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      ctap2Version: 'ctap2_1',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  await page.goto(`${server.url}/login`)
  const run = (call: string) => page.evaluate(call) as Promise<never>
  const told = (...values: unknown[]) => values.map((value) => JSON.stringify(value) ?? 'undefined').join(', ')
  const person: Visit = {
    page,
    cdp,
    authenticatorId,
    ask: (method, path, body) => run(`ask(${told(method, path, body)})`),
    add: (key) => run(`add(${told(key)})`),
    signIn: () => run('signIn()'),
  }
  const made = await person.ask('POST', '/api/auth/register', {
    email: `${name}@example.com`,
    password: PASSWORD,
    name,
  })
  expect(made.status).toBe(201)
  return person
}

const credentials = async ({ cdp, authenticatorId }: Visit) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials

test('a user adds a passkey, signs out, and signs in with it', async () => {
  const ada = await visit('ada')
  const added = await ada.add('this laptop')
  expect([added.status, added.body]).toMatchObject([
    201,
    { name: 'this laptop', transports: ['internal'], lastUsedAt: null },
  ])
  expect(await credentials(ada)).toMatchObject([
    { rpId: 'localhost', isResidentCredential: true, userName: 'ada@example.com' },
  ])
  // The browser knows that this authenticator has one already.
  expect(await ada.add('again').catch((error: Error) => error.message)).toContain('InvalidStateError')

  const me = await ada.ask<{ id: string }>('GET', '/api/auth/me')
  await ada.ask('POST', '/api/auth/logout')
  expect((await ada.ask('GET', '/api/auth/me')).status).toBe(401)
  const back = await ada.signIn()
  expect([back.status, back.body.user?.id]).toEqual([200, me.body.id])
  expect((await ada.ask('GET', '/api/auth/me')).status).toBe(200)
  const { items } = (await ada.ask<{ items: { lastUsedAt: string | null }[] }>('GET', '/api/settings/passkeys')).body
  expect(items).toHaveLength(1)
  expect(items[0]?.lastUsedAt).toBeString()
  await ada.page.context().close()
}, 300_000)

test('a passkey signs in with one click, and the settings list it', async () => {
  const grace = await visit('grace')
  await grace.add('blue key')
  await grace.ask('POST', '/api/auth/logout')
  await grace.page.reload()
  await grace.page.click('#passkey')
  await grace.page.waitForURL('**/')
  await grace.page.goto(new URL('/settings/passkeys', grace.page.url()).href)
  await grace.page.waitForSelector('text=blue key')
  expect((await grace.ask<{ email: string }>('GET', '/api/auth/me')).body.email).toBe('grace@example.com')
  await grace.page.context().close()
}, 300_000)

test('an authenticator without user verification is refused', async () => {
  const eve = await visit('eve')
  expect((await eve.add('key')).status).toBe(201)
  await eve.cdp.send('WebAuthn.setUserVerified', { authenticatorId: eve.authenticatorId, isUserVerified: false })
  expect(await eve.signIn().catch((error: Error) => error.message)).toContain('NotAllowedError')
  await eve.page.context().close()
}, 300_000)

test('a cloned passkey is detected by its counter', async () => {
  const joan = await visit('joan')
  await joan.add('key')
  expect([(await joan.signIn()).status, (await joan.signIn()).status]).toEqual([200, 200])
  const [copy] = await credentials(joan)
  if (!copy) throw new Error('no credential')
  expect(copy.signCount).toBeGreaterThan(1)
  const { authenticatorId } = joan
  await joan.cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId: copy.credentialId })
  await joan.cdp.send('WebAuthn.addCredential', { authenticatorId, credential: { ...copy, signCount: 1 } })
  const refused = await joan.signIn()
  expect([refused.status, refused.body.code]).toEqual([401, 'unauthenticated'])
  await joan.page.context().close()
}, 300_000)

test('the browser refuses a passkey at another address of the same server', async () => {
  const mary = await visit('mary')
  await mary.add('key')
  await mary.page.goto(`${server.url.replace('localhost', '127.0.0.1')}/login`)
  expect(await mary.signIn().catch((error: Error) => error.message)).toContain('SecurityError')
  await mary.page.context().close()
}, 300_000)
