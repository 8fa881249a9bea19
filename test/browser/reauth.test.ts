import { afterAll, beforeAll, expect, test } from 'bun:test'
import { revealCode } from '../../src/auth/one-time-secrets.ts'
import { TestClock } from '../features/support.ts'
import { logged, PASSWORD, systemCtx, type TestApp, testApp, unique } from '../support/app.ts'
import { isLive, Visitor } from './support.ts'

/** What depends on time: the same pages, served by this process, whose clock can be moved. */
const clock = new TestClock()
let t: TestApp
let url: string
beforeAll(async () => {
  t = await testApp({}, clock.now)
  url = t.app.url
}, 300_000)
afterAll(() => t?.close())

const visit = () => Visitor.open({ at: { url, output: () => logged.join('') } })
const someone = () => `${unique('ada')}@example.com`

test('a sensitive change asks to confirm the identity once, and then continues', async () => {
  const ada = await visit()
  await ada.register('Ada Lovelace', someone())
  await ada.goto('/settings/security')
  await ada.page.getByLabel('New e-mail address').fill(someone())
  await isLive(ada)
  clock.forward({ minutes: 6 })
  const dialog = ada.page.getByRole('dialog', { name: 'Confirm your identity' })
  const confirm = dialog.getByRole('button', { name: 'Confirm' })

  await ada.button('Change address').click()
  await dialog.waitFor()
  await ada.page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await ada.page.getByRole('alert').filter({ hasText: 'Confirm your identity, then repeat.' }).waitFor()

  await ada.button('Change address').click()
  await dialog.getByLabel('Password').fill('not the right one')
  await confirm.click()
  await dialog.getByRole('alert').filter({ hasText: 'The password is wrong.' }).waitFor()
  await dialog.getByLabel('Password').fill(PASSWORD)
  await confirm.click()
  await ada.see('There is a link for')
  await dialog.waitFor({ state: 'detached' })
  await ada.leave('POST /api/auth/email-change 403', 'POST /api/auth/email-change 403', 'POST /api/auth/reauth 403')
}, 300_000)

test('a user without a password confirms their identity by a mailed code', async () => {
  const ada = await visit()
  const email = someone()
  await ada.register('Ada Lovelace', email)
  await ada.authenticator()
  await ada.goto('/settings/passkeys')
  await ada.page.getByLabel('Name', { exact: true }).fill('blue key')
  await isLive(ada)
  clock.forward({ minutes: 6 })
  await ada.button('Add a passkey').click()
  const dialog = ada.page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Use a code instead' }).click()
  const field = dialog.getByLabel('Code')
  await field.waitFor()
  await field.fill(await codeFor(email))
  await ada.enter()
  await ada.page.getByRole('list', { name: 'Passkeys' }).getByText('never used').waitFor()
  await ada.leave('POST /api/auth/passkey/register/begin 403')
}, 300_000)

/** As browsers do after a quarter of an hour. */
const forgetAccess = (who: Visitor) => who.context.clearCookies({ name: 'tutti_access' })

test('an expired access token is renewed before the identity is confirmed', async () => {
  const ada = await visit()
  await ada.register('Ada Lovelace', someone())
  await ada.goto('/settings/security')
  await ada.page.getByLabel('New e-mail address').fill(someone())
  await isLive(ada)
  clock.forward({ minutes: 6 })
  await forgetAccess(ada)
  await ada.button('Change address').click()
  await ada.page.getByRole('dialog').getByLabel('Password').fill(PASSWORD)
  await ada.enter()
  await ada.see('There is a link for')
  expect(ada.refused).toContain('POST /api/auth/email-change 403')
  await ada.leave(...ada.refused)
}, 300_000)

test('tabs that renew the session at the same moment do not end it', async () => {
  const ada = await visit()
  const email = someone()
  await ada.register('Ada Lovelace', email)
  await forgetAccess(ada)
  const tabs = [ada.page, ada.watch(await ada.context.newPage()), ada.watch(await ada.context.newPage())]
  // All of them hear that they are signed out before any of them does something about it.
  let waiting = tabs.length
  const told = Promise.withResolvers<void>()
  await ada.context.route('**/api/frame', async (route) => {
    const response = await route.fetch()
    if (--waiting === 0) told.resolve()
    await told.promise
    await route.fulfill({ response })
  })
  await Promise.all(tabs.map((tab) => tab.goto(`${url}/settings/sessions`)))
  for (const tab of tabs) await tab.getByText('this browser').waitFor()
  expect(await ada.me()).toBe(email)
  expect(ada.refused.filter((one) => one.startsWith('POST /api/auth/refresh'))).toEqual([])
  await ada.leave(...ada.refused)
}, 300_000)

async function codeFor(email: string): Promise<string> {
  return (await revealCode(systemCtx(t), email))?.code as string
}
