import { afterAll, beforeAll, expect, test } from 'bun:test'
import { EMAIL, Home, Office } from '../binary/home.ts'
import { json, PASSWORD } from '../support/binary.ts'
import { axe } from './axe.ts'
import { api, call, Visitor } from './support.ts'

/** D3 as people go through it: the command line on one side, the page on the other. */
let office: Office
beforeAll(async () => {
  office = await Office.open()
}, 300_000)
afterAll(() => office?.server.kill())

async function visit(path: string): Promise<Visitor> {
  const grace = await Visitor.open({ at: office.server })
  await grace.context.request.post(`${office.url}/api/auth/login`, { data: { email: EMAIL, password: PASSWORD } })
  await grace.goto(path)
  return grace
}

test('a device is approved by typing its code: the page names the device, and only a click signs it in', async () => {
  const home = new Home(office)
  const { userCode, done } = await home.login()
  const grace = await visit('/device')
  const field = grace.page.getByLabel('Code')
  expect(await field.inputValue()).toBe('')
  await field.fill(userCode.toLowerCase().replace('-', ' '))
  await grace.enter()
  await grace.see('Did you start this sign-in?')
  const told = await grace.page.locator('main').textContent()
  for (const part of [
    /tutti on \S/,
    /127\.0\.0\.1|::1/,
    /\d+ (seconds|minutes) ago/,
    EMAIL,
    /able to do everything you can do/,
  ])
    expect(told).toMatch(part)
  // Pressing Enter repeatedly is not an answer.
  await grace.page.keyboard.press('Enter')
  expect(home.text).toBe('')
  await grace.button('Yes, sign in the device').click()
  await grace.see('Done.')
  expect((await done).code).toBe(0)
  expect((await home.run('whoami')).out).toContain(`Grace Hopper <${EMAIL}>`)
  await grace.leave()
}, 300_000)

test('a device address with the code fills it in without submitting it; refusing ends the request', async () => {
  const home = new Home(office)
  const { userCode, done } = await home.login()
  const grace = await visit(`/device?code=${userCode}`)
  await grace.see('Continue only if your terminal or device shows exactly this code.')
  expect(await grace.page.getByLabel('Code').inputValue()).toBe(userCode)
  await grace.page.locator('form button:enabled').waitFor()
  // Whatever the page did by itself would have been asked before this.
  await grace.page.evaluate("fetch('/health')")
  expect(grace.asked.filter(({ pathname }) => pathname.startsWith('/api/auth/device/'))).toEqual([])
  await grace.button('Continue').click()
  await grace.button('No, deny').click()
  await grace.see('Denied.')
  expect(await done).toMatchObject({ code: 3, out: '' })
  expect(home.text).toBe('')

  await grace.page.reload()
  await grace.button('Continue').click()
  await grace.page.getByRole('alert').filter({ hasText: 'You have already approved or denied this request.' }).waitFor()
  await grace.leave()
}, 300_000)

test('a visitor signs in first and finds the device code again; the code of another user is unknown', async () => {
  const [ada, eve] = [await Visitor.open(), await Visitor.open()]
  const { email } = await ada.register('Ada Lovelace')
  await eve.register('Eve')
  await ada.context.clearCookies()
  const { userCode } = await api<{ userCode: string }>('POST', '/api/auth/device/request', { clientName: 'a box' })
  await ada.goto(`/device?code=${userCode}`)
  await ada.page.waitForURL('**/login?next=*')
  await ada.fill({ email, password: PASSWORD })
  await ada.button('Sign in').click()
  await ada.page.waitForURL(`${ada.url}/device?code=${userCode}`)
  await ada.button('Continue').click()
  await ada.see('Did you start this sign-in?')

  await eve.goto(`/device?code=${userCode}`)
  await eve.button('Continue').click()
  await eve.page.getByRole('alert').filter({ hasText: 'No device shows this code' }).waitFor()
  await ada.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401')
  await eve.leave(`GET /api/auth/device/${userCode} 404`)
}, 300_000)

test('a program gets access: sign-in, consent, choice of projects, redirect, and revocation', async () => {
  let called: URL | undefined
  const program = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const url = new URL(request.url)
      if (url.pathname === '/callback') called = url
      return new Response('<!doctype html><title>Robot</title>Back in the program', {
        headers: { 'content-type': 'text/html' },
      })
    },
  })
  const callback = `${program.url.origin}/callback`
  const { client_id } = await api<{ client_id: string }>('POST', '/oauth/register', {
    client_name: '<img src=x onerror=alert(1)>',
    redirect_uris: ['http://127.0.0.1/callback'],
  })
  const verifier = 'v'.repeat(43)
  const challenge = new Bun.CryptoHasher('sha256').update(verifier).digest('base64url')
  const ada = await Visitor.open({ colorScheme: 'dark', viewport: { width: 320, height: 700 } })
  const { email } = await ada.register('Ada Lovelace')
  await call(ada, 'POST', '/api/projects', { name: 'Lantern' })
  await ada.context.clearCookies()
  // As programs write it: slashes and colons are not encoded, and must survive the detour.
  await ada.goto(
    `/oauth/authorize?response_type=code&client_id=${client_id}&redirect_uri=${callback}&state=a*b` +
      `&code_challenge=${challenge}&code_challenge_method=S256`,
  )
  await ada.page.waitForURL('**/login?next=*')
  await ada.fill({ email, password: PASSWORD })
  await ada.button('Sign in').click()
  await ada.see('<img src=x onerror=alert(1)>')
  await ada.see('Continue only if you have just started it yourself.')
  await ada.page.getByLabel('Access').selectOption('Read only')
  await ada.page.getByLabel('Projects').selectOption('Selected projects only')
  await ada.page.getByRole('checkbox', { name: 'Lantern' }).check()
  expect(await axe(ada.page)).toEqual([])
  await ada.button('Allow').click()
  await ada.see('Back in the program')
  const { searchParams } = called as URL
  expect([searchParams.get('state'), searchParams.get('iss')]).toEqual(['a*b', `${ada.url}/mcp`])

  const form = {
    grant_type: 'authorization_code',
    code: searchParams.get('code') as string,
    client_id,
    redirect_uri: callback,
    code_verifier: verifier,
  }
  const got = await fetch(`${ada.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token, scope } = (await got.json()) as { access_token: string; scope: string }
  expect(scope).toBe('read')
  const isKnown = async () =>
    (await fetch(`${ada.url}/mcp`, json('POST', { jsonrpc: '2.0', id: 1, method: 'ping' }, access_token))).status !==
    401
  expect(await isKnown()).toBe(true)

  await ada.goto('/settings/grants')
  await ada.see(/read only.*sees only Lantern/)
  expect(await axe(ada.page)).toEqual([])
  await ada.button('Revoke <img src=x onerror=alert(1)>').click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await ada.see('No program has signed in yet.')
  expect(await isKnown()).toBe(false)
  // Its way back is the one address of another origin, and holds a code, which is of no use to others.
  const elsewhere = (text: string) => text.includes(program.url.origin) || /^told .* where it came from$/.test(text)
  ada.trouble.splice(0, Number.POSITIVE_INFINITY, ...ada.trouble.filter((text) => !elsewhere(text)))
  ada.asked.splice(0, Number.POSITIVE_INFINITY, ...ada.asked.filter(({ href }) => !elsewhere(href)))
  await ada.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401')
  await program.stop(true)
}, 300_000)
