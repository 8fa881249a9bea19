import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openCode } from '../../src/auth/one-time-secrets.ts'
import { TestClock } from '../features/support.ts'
import { logged, PASSWORD, systemCtx, type TestApp, testApp, unique } from '../support/app.ts'
import { Visitor } from './support.ts'

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

test('what needs a fresh proof asks for it, once, and then goes on', async () => {
  const ada = await visit()
  await ada.register('Ada Lovelace', someone())
  await ada.goto('/account')
  const move = ada.page.locator('form', { has: ada.page.getByLabel('New e-mail address') })
  await ada.page.getByLabel('New e-mail address').fill(someone())
  clock.forward({ minutes: 6 })
  const dialog = ada.page.getByRole('dialog', { name: 'Confirm your identity' })
  const confirm = dialog.getByRole('button', { name: 'Confirm' })

  await ada.button('Change address').click()
  await dialog.waitFor()
  expect(await ada.focused().getAttribute('name')).toBe('password')
  await ada.page.keyboard.press('Escape')
  await move
    .getByRole('alert')
    .filter({ hasText: 'You did not confirm your identity, so nothing was changed.' })
    .waitFor()

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

test('who has no password confirms by a mailed code', async () => {
  const ada = await visit()
  const email = someone()
  await ada.register('Ada Lovelace', email)
  await ada.authenticator()
  await ada.goto('/account')
  clock.forward({ minutes: 6 })
  const passkeys = ada.section('Passkeys')
  await passkeys.getByLabel('Name').fill('blue key')
  await passkeys.getByRole('button', { name: 'Add a passkey' }).click()
  const dialog = ada.page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'I have no password: use a code' }).click()
  const field = dialog.getByLabel('Code')
  await field.waitFor()
  await field.fill(await codeFor(email))
  expect(await ada.focused().getAttribute('name')).toBe('code')
  await ada.enter()
  await passkeys.getByText('never used').waitFor()
  await ada.leave('POST /api/auth/passkey/register/begin 403')
}, 300_000)

/** As browsers do after a quarter of an hour. */
const forgetAccess = (who: Visitor) => who.context.clearCookies({ name: 'tutti_access' })

test('an access token that has run out is renewed, and the proof asked for after that', async () => {
  const ada = await visit()
  await ada.register('Ada Lovelace', someone())
  await ada.goto('/account')
  await ada.page.getByLabel('New e-mail address').fill(someone())
  clock.forward({ minutes: 6 })
  await forgetAccess(ada)
  await ada.button('Change address').click()
  await ada.page.getByRole('dialog').getByLabel('Password').fill(PASSWORD)
  await ada.enter()
  await ada.see('There is a link for')
  await ada.leave('POST /api/auth/email-change 401', 'POST /api/auth/email-change 403')
}, 300_000)

test('tabs that renew at the same moment do not end the session', async () => {
  const ada = await visit()
  const email = someone()
  await ada.register('Ada Lovelace', email)
  await forgetAccess(ada)
  const tabs = [ada.page, ada.watch(await ada.context.newPage()), ada.watch(await ada.context.newPage())]
  // All of them hear that they are signed out before any of them does something about it.
  let waiting = tabs.length
  const told = Promise.withResolvers<void>()
  await ada.context.route('**/api/auth/me', async (route) => {
    const response = await route.fetch()
    if (--waiting === 0) told.resolve()
    await told.promise
    await route.fulfill({ response })
  })
  await Promise.all(tabs.map((tab) => tab.goto(`${url}/account`)))
  for (const tab of tabs) await tab.getByText('this browser').waitFor()
  expect(await ada.me()).toBe(email)
  await ada.leave(...tabs.map(() => 'GET /api/auth/me 401'))
}, 300_000)

async function codeFor(email: string): Promise<string> {
  return (await openCode(systemCtx(t), email))?.code as string
}
