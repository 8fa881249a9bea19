import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { EMAIL, PASSWORD, type Served, serve } from '../support/binary.ts'
import { axe } from './axe.ts'
import { looks, newContext } from './support.ts'

let server: Served

beforeAll(async () => {
  server = await serve()
}, 300_000)
afterAll(() => server?.stop())

/** A page that notes everything a visitor should never see: script errors, refused resources, policy violations. */
async function visit(path: string): Promise<{ page: Page; trouble: string[] }> {
  const page = await (await newContext()).newPage()
  const trouble: string[] = []
  page.on('pageerror', (error) => trouble.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') trouble.push(message.text())
  })
  page.on('requestfailed', (request) => trouble.push(request.url()))
  await page.goto(server.url + path)
  return { page, trouble }
}

test('the public home page describes the product, and all its links work', async () => {
  const { page, trouble } = await visit('/')
  expect(await page.textContent('h1')).toBe('People and agents, one plan')
  const links = await page.$$eval('a', (all) => all.map((a) => (a as unknown as { href: string }).href))
  expect(links.length).toBeGreaterThan(4)
  for (const link of links) expect((await page.request.get(link)).status()).toBe(200)
  expect(trouble).toEqual([])
}, 300_000)

test('the front page passes axe, fits a narrow screen and leads to signing in by keyboard, without scripts', async () => {
  for (const look of looks) {
    const page = await (await newContext(look)).newPage()
    await page.goto(server.url)
    expect(await axe(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.context().close()
  }
  const page = await (await newContext({ javaScriptEnabled: false })).newPage()
  await page.goto(server.url)
  await page.locator('main').getByRole('link', { name: 'Sign in' }).focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Create an account' }).waitFor()
  await page.context().close()
}, 300_000)

test('the API reference opens an operation, and the manual shows its pages', async () => {
  const { page, trouble } = await visit('/api/reference')
  await page.getByLabel('Search the API').fill('notes create')
  await page.keyboard.press('Enter')
  await page.click('text=POST /api/notes')
  await page.waitForURL((url) => url.pathname === '/api/reference/notes')
  await page.click('[id="notes.create"] summary')
  expect(await page.isVisible('[id="notes.create"] details td:has-text("createdAt")')).toBe(true)
  await page.goto(`${server.url}/manual`)
  await page.getByLabel('Search the manual').fill('acceptance criteria')
  await page.keyboard.press('Enter')
  await page.click('text=Tasks › Acceptance criteria')
  await page.getByRole('heading', { name: 'Tasks', exact: true, level: 1 }).waitFor()
  expect(trouble).toEqual([])
}, 300_000)

test('the set-up link creates the first administrator, once', async () => {
  const token = /setup#(\S+)/.exec(server.output())?.[1] as string
  const { page, trouble } = await visit(`/setup#${token}`)
  const fill = async (password: string) => {
    await page.fill('[name=name]', 'Ada Lovelace')
    await page.fill('[name=email]', EMAIL)
    await page.fill('[name=password]', password)
    await page.click('button')
  }
  await fill('password1234567')
  await page.waitForSelector('[role=alert]:not(:empty)')
  expect(await page.textContent('[role=alert]')).toContain('too easy to guess')
  await fill(PASSWORD)
  await page.waitForSelector('text=You are signed in as')
  expect(page.url()).not.toContain(token)
  // Signed in by cookies that scripts cannot read; the one they can read holds no secret.
  expect(await page.evaluate('document.cookie')).toBe('tutti_here=1')
  const me = await page.evaluate("fetch('/api/auth/me').then((r) => r.json())")
  expect(me).toMatchObject({ email: EMAIL, role: 'admin' })
  // The one refused attempt is in the console, and nothing else.
  expect(trouble.filter((t) => !t.includes('422'))).toEqual([])

  const again = await visit(`/setup#${token}`)
  expect(await again.page.textContent('h1')).toBe('This server is already set up')
  await again.page.getByRole('link', { name: 'Sign in' }).click()
  await again.page.waitForURL('**/login')
}, 300_000)
