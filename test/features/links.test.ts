import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { write } from '../../src/action.ts'
import { issueSecret, peekSecret, redeemSecret } from '../../src/auth/one-time-secrets.ts'
import { machine } from '../../src/auth/policy.ts'
import { hashSecret } from '../../src/auth/secrets.ts'
import type { Purpose } from '../../src/auth/table.ts'
import { oneTimeSecrets } from '../../src/auth/table.ts'
import { exampleOf } from '../../src/http/openapi.ts'
import { call, logged, type Person, person, systemCtx, type TestApp, testApp } from '../support/app.ts'
import { kept, keptMail, linkSecretIn, mailRows } from '../support/mail.ts'
import {
  cookieFrom,
  exchangeLink,
  linkFor,
  newAddress,
  prove,
  sendLink,
  sessionsOf,
  suspend,
  verifyCode,
  verifyLink,
} from './codes-support.ts'
import { expectEvent, expectEvents, expectNoEvents, statuses, TestClock, times, watch } from './support.ts'

const opened: TestApp[] = []
const open = async (settings: Record<string, string> = {}, clock?: () => Date): Promise<TestApp> => {
  const app = watch(await testApp({ background: 'off', ...settings }, clock))
  opened.push(app)
  return app
}
let t: TestApp
beforeAll(async () => {
  t = await open()
})
afterAll(() => Promise.all(opened.map((app) => app.close())))

const outcome = ({ status, body }: { status: number; body: unknown }) => [status, (body as { code?: string }).code]
const gone = [410, 'gone']
const elsewhere = [409, 'conflict.other_browser']

describe('a sign-in link', () => {
  test('signs in once, in the browser that requested it', async () => {
    const ada = await person(t)
    await prove(t, ada)
    const asked = await sendLink(t, ada.email)
    expect([asked.status, asked.body]).toEqual([200, kept])
    expect(await expectEvent(t, asked, 'auth.link_requested')).toMatchObject({ userId: ada.userId })
    expect(asked.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^tutti_link=[\w-]{43}; Path=\/; Max-Age=900; HttpOnly; SameSite=Lax$/),
    ])
    const mail = await keptMail(t, ada.email, 'magic_link')
    expect(mail.text).toContain(`${t.app.url}/magic#svc_one_`)
    const token = linkSecretIn(mail)

    const answer = await verifyLink(t, token, cookieFrom(asked))
    expect(answer.status).toBe(200)
    expect(answer.body.user.id).toBe(ada.userId)
    expect(answer.headers.getSetCookie().map((c) => c.split(/[=;]/)[0])).toEqual([
      'tutti_access',
      'tutti_refresh',
      'tutti_here',
      'tutti_link',
    ])
    expect(answer.headers.getSetCookie()[3]).toContain('Max-Age=0')
    expect(await expectEvent(t, answer, 'user.signed_in')).toMatchObject({
      userId: ada.userId,
      data: { via: 'magic_link' },
    })
    expect((await sessionsOf(t, ada.userId)).map((s) => s.via).sort()).toEqual(['magic_link', 'password'])
    expect((await mailRows(t, ada.email, 'magic_link')).map((m) => m.sealed)).toEqual([null])

    const again = await verifyLink(t, token, cookieFrom(asked))
    expect(outcome(again)).toEqual(gone)
    // A link that no longer works leads to no account.
    await expectNoEvents(t, again)
    expect(outcome(await exchangeLink(t, token))).toEqual(gone)
    // Neither the link nor the browser's mark is kept anywhere as it is.
    expect(JSON.stringify(await t.app.db.select().from(oneTimeSecrets))).not.toContain(token)
    expect(logged.join('\n')).not.toContain(token)
  })

  test('takes its address and its cookie from APP_URL, whatever host the request names', async () => {
    const own = await open({ APP_URL: 'https://tutti.example.com', ALLOWED_HOSTS: 'evil.example.org' })
    const email = newAddress()
    const asked = await call(own, 'POST', '/api/auth/magic-link/send', { email }, { host: 'evil.example.org' })
    expect(asked.status).toBe(200)
    const { text, html } = await keptMail(own, email)
    expect(text).toContain('https://tutti.example.com/magic#svc_one_')
    expect(text + html).not.toContain('evil')
    expect(asked.headers.getSetCookie()[0]).toMatch(
      /^__Host-tutti_link=[\w-]{43}; Path=\/; Max-Age=900; HttpOnly; SameSite=Lax; Secure$/,
    )
    const { cookie } = cookieFrom(asked) as { cookie: string }
    const plain = { cookie: cookie.replace('__Host-', '') }
    expect(outcome(await verifyLink(own, linkSecretIn({ text }), plain))).toEqual(elsewhere)
    expect((await verifyLink(own, linkSecretIn({ text }), { cookie })).status).toBe(200)
  })

  test('does not sign in another browser, and is not used up there', async () => {
    const ada = await person(t, { confirmed: true })
    const { token, browser } = await linkFor(t, ada.email)
    const other = cookieFrom(await sendLink(t, newAddress()))
    const answer = await verifyLink(t, token)
    expect(outcome(answer)).toEqual(elsewhere)
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(await expectEvent(t, answer, 'auth.sign_in_failed')).toMatchObject({
      userId: ada.userId,
      data: { via: 'magic_link' },
    })
    for (const cookie of [other, { cookie: 'tutti_link=' }, { cookie: `tutti_link=${token}` }])
      expect(outcome(await verifyLink(t, token, cookie))).toEqual(elsewhere)
    expect((await sessionsOf(t, ada.userId)).map((s) => s.via)).toEqual(['password'])
    expect((await verifyLink(t, token, browser)).status).toBe(200)
  })

  test('shows a code in another browser, which works in the browser that requested the link', async () => {
    const ada = await person(t, { confirmed: true })
    const { token, browser } = await linkFor(t, ada.email)
    const answer = await exchangeLink(t, token)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      email: ada.email,
      code: expect.stringMatching(/^\d{6}$/),
      expiresAt: expect.any(String),
    })
    expect(Date.parse(answer.body.expiresAt) - Date.now()).toBeWithin(9 * 60_000, 10 * 60_000 + 1)
    expect(answer.headers.getSetCookie()).toEqual([])
    const event = await expectEvent(t, answer, 'auth.code_requested')
    expect(JSON.stringify(event.data)).toBe('{}')
    expect((await mailRows(t, ada.email, 'magic_link')).map((m) => m.sealed)).toEqual([null])
    expect(outcome(await verifyLink(t, token, browser))).toEqual(gone)
    expect(outcome(await exchangeLink(t, token))).toEqual(gone)
    expect((await verifyCode(t, answer.body.email, answer.body.code, browser)).body.user.id).toBe(ada.userId)
    expect((await verifyCode(t, answer.body.email, answer.body.code)).status).toBe(401)
  })

  test('is used only by a POST: a GET changes nothing', async () => {
    const ada = await person(t, { confirmed: true })
    const { token, browser } = await linkFor(t, ada.email)
    const look = (method: string, path: string) => fetch(t.url + path, { method, headers: browser })
    for (const method of ['HEAD', 'GET', 'GET', 'GET']) {
      for (const path of [
        '/api/auth/magic-link/verify',
        '/api/auth/magic-link/code',
        `/api/auth/magic-link/verify?token=${token}`,
      ])
        expect((await look(method, path)).status).toBe(405)
      const page = await look(method, '/magic')
      expect(page.status).toBe(200)
      expect(page.headers.get('referrer-policy')).toBe('no-referrer')
      expect(page.headers.getSetCookie()).toEqual([])
    }
    expect((await verifyLink(t, token, browser)).status).toBe(200)
  })

  test('works for fifteen minutes, and a new one replaces it', async () => {
    const clock = new TestClock()
    const own = await open({}, clock.now)
    const email = newAddress()
    const first = await linkFor(own, email)
    const second = await linkFor(own, email)
    for (const use of [verifyLink, exchangeLink])
      expect(outcome(await use(own, first.token, first.browser))).toEqual(gone)
    clock.forward({ minutes: 14, seconds: 59 })
    expect((await verifyLink(own, second.token, second.browser)).status).toBe(200)
    const third = await linkFor(own, email)
    clock.forward({ minutes: 15 })
    for (const use of [verifyLink, exchangeLink])
      expect(outcome(await use(own, third.token, third.browser))).toEqual(gone)
  })

  test('works for exactly one of twenty simultaneous uses', async () => {
    const ada = await person(t)
    const { token, browser } = await linkFor(t, ada.email)
    const answers = await Promise.all(
      times(20, (i) => (i % 2 ? verifyLink(t, token, browser) : exchangeLink(t, token)) as Promise<{ status: number }>),
    )
    expect(statuses(answers)).toEqual([200, ...times(19, () => 410)])
  })

  test('creates an account where registration is open, and none where it is closed', async () => {
    const email = newAddress('grace.hopper')
    const { token, browser } = await linkFor(t, email)
    const answer = await verifyLink(t, token, browser)
    expect(answer.body.user).toMatchObject({ email })
    expect(answer.body.user.emailVerifiedAt).toBeString()
    await expectEvents(t, answer, 'user.registered', 'user.signed_in')

    const closed = await open({ REGISTRATION: 'closed' })
    const stranger = newAddress()
    const asked = await sendLink(closed, stranger)
    expect([asked.status, asked.body, asked.headers.getSetCookie().length]).toEqual([200, kept, 1])
    expect(await mailRows(closed, stranger)).toMatchObject([{ sealed: null, status: 'failed' }])
    // Asked for while it was open.
    for (const use of [verifyLink, exchangeLink]) {
      const late = await linkFor(t, stranger)
      expect(outcome(await use(closed, late.token, late.browser))).toEqual(gone)
    }
  })

  test('does not sign in a user who was suspended meanwhile', async () => {
    for (const use of [verifyLink, exchangeLink]) {
      const ada = await person(t)
      const { token, browser } = await linkFor(t, ada.email)
      await suspend(t, ada)
      expect(outcome(await use(t, token, browser))).toEqual(gone)
    }
  })

  test('counts towards the login limit of the network', async () => {
    const own = await open({ RATE_LIMIT_LOGIN: '2', TRUSTED_PROXIES: '127.0.0.1' })
    const { token, browser } = await linkFor(t, newAddress())
    const here = { 'x-forwarded-for': `198.51.100.${Math.floor(Math.random() * 256)}` }
    expect((await verifyLink(own, token, here)).status).toBe(409)
    expect((await exchangeLink(own, 'svc_one_x', here)).status).toBe(410)
    expect((await verifyLink(own, token, { ...here, ...browser })).status).toBe(429)
    expect((await exchangeLink(own, token, here)).status).toBe(429)
  })
})

describe('a one-time secret', () => {
  const purposes: Purpose[] = [
    'magic_link',
    'verify_email',
    'reset',
    'email_change',
    'email_undo',
    'passkey_register',
    'passkey_login',
    'oauth',
  ]
  /** Where each may be used; everywhere else it is nothing. */
  const doors: Record<string, Purpose> = {
    '/api/auth/magic-link/verify': 'magic_link',
    '/api/auth/magic-link/code': 'magic_link',
    '/api/auth/reset-password': 'reset',
    '/api/auth/verify-email': 'verify_email',
    '/api/auth/email-change/confirm': 'email_change',
    '/api/auth/email-change/undo': 'email_undo',
  }
  const issueFor = write('test.issue', machine, async (ctx, { purpose, who }: { purpose: Purpose; who: Person }) =>
    issueSecret(ctx, { purpose, subject: who.userId, userId: who.userId, minutes: 10 }),
  )
  const redeem = write('test.redeem', machine, async (ctx, { purpose, secret }: { purpose: Purpose; secret: string }) =>
    redeemSecret(ctx, purpose, secret),
  )

  test('works for its own purpose only', async () => {
    const ada = await person(t)
    const ctx = systemCtx(t)
    for (const purpose of purposes) {
      const secret = await issueFor(ctx, { purpose, who: ada })
      for (const other of purposes.filter((p) => p !== purpose)) {
        expect(await peekSecret(ctx, other, secret)).toBeUndefined()
        expect(await redeem(ctx, { purpose: other, secret })).toBeUndefined()
      }
      expect(await redeem(ctx, { purpose, secret })).toMatchObject({ userId: ada.userId })
      expect(await redeem(ctx, { purpose, secret })).toBeUndefined()
    }
  })

  test('is refused on every route for another purpose, and is not used up there', async () => {
    const ada = await person(t)
    const ctx = systemCtx(t)
    const secrets = await Promise.all(
      purposes.map(async (purpose) => ({ purpose, secret: await issueFor(ctx, { purpose, who: ada }) })),
    )
    // The contact form takes whatever it gets: with a wrong token the message is spam, and nobody is told.
    const routes = t.server.routes.filter(
      ({ method, path, hooks }) => method === 'POST' && hooks.body?.properties?.token && path !== '/api/public/contact',
    )
    expect(routes.map((r) => r.path)).toEqual(
      expect.arrayContaining(['/api/auth/magic-link/verify', '/api/auth/magic-link/code', '/api/setup']),
    )
    const taken: string[] = []
    for (const route of routes)
      for (const { purpose, secret } of secrets.filter((s) => s.purpose !== doors[route.path])) {
        const body = { ...(exampleOf(route.hooks.body!) as object), token: secret }
        for (const answer of [await call(t, 'POST', route.path, body), await ada.fetch('POST', route.path, body)])
          if (![401, 403, 404, 410, 422].includes(answer.status))
            taken.push(`${purpose} on ${route.path}: ${answer.status}`)
        if (!(await peekSecret(ctx, purpose, secret))) taken.push(`${purpose} on ${route.path}: used up`)
      }
    expect(taken).toEqual([])
  })

  test('is stored as a hash', async () => {
    const ada = await person(t)
    const { token, browser } = await linkFor(t, ada.email)
    const [row] = await t.app.db.select().from(oneTimeSecrets).where(eq(oneTimeSecrets.subject, ada.email))
    expect(row).toMatchObject({
      hash: hashSecret(token),
      boundTo: hashSecret(browser.cookie?.split('=')[1] as string),
      sealed: null,
    })
  })
})
