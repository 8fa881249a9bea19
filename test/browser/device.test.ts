import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { EMAIL, Home, Office } from '../binary/home.ts'
import { PASSWORD } from '../support/binary.ts'

/** D3 as people go through it: the command line on one side, the page on the other. */
let office: Office
let browser: Browser
beforeAll(async () => {
  office = await Office.open()
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-sync'],
  })
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await office?.server.kill()
})

async function visit(path: string): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(`${office.url}/manual`)
  await page.evaluate(
    (body) => fetch('/api/auth/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    JSON.stringify({ email: EMAIL, password: PASSWORD }),
  )
  await page.goto(office.url + path)
  return page
}

test('the code is typed, the page says who asks, and only a click signs in', async () => {
  const home = new Home(office)
  const { userCode, done } = await home.login()
  const page = await visit('/device')
  const field = page.locator('[name=code]')
  expect(await field.inputValue()).toBe('')
  await field.fill(userCode.toLowerCase().replace('-', ' '))
  await page.locator('form button').click()
  await page.getByText('Did you start this?').waitFor()
  const told = await page.locator('main').textContent()
  for (const part of [/tutti on \S/, /127\.0\.0\.1|::1/, /\d+ seconds ago/, /able to do what you can do/]) expect(told).toMatch(part)
  expect(home.text).toBe('')
  await page.getByRole('button', { name: 'Yes, sign it in' }).click()
  await page.getByText('Done.').waitFor()
  expect((await done).code).toBe(0)
  expect((await home.run('whoami')).out).toContain(`Grace Hopper <${EMAIL}>`)
}, 60_000)

test('an address with the code fills it in and submits nothing; refusing ends it', async () => {
  const home = new Home(office)
  const { userCode, done } = await home.login()
  const page = await visit(`/device?code=${userCode}`)
  const field = page.locator('[name=code]')
  await field.waitFor()
  expect(await field.inputValue()).toBe(userCode)
  expect(await page.getByText('Did you start this?').count()).toBe(0)
  await page.locator('form button').click()
  await page.getByRole('button', { name: 'No, refuse' }).click()
  await page.getByText('Refused.').waitFor()
  expect(await done).toMatchObject({ code: 3, out: '' })
  expect(home.text).toBe('')
}, 60_000)
