import { afterAll, beforeAll, expect, test } from 'bun:test'
import { TestClock } from '../features/support.ts'
import { PASSWORD, type TestApp, testApp } from '../support/app.ts'
import { Visitor } from './support.ts'

/** What depends on time: the same pages, served by this process, whose clock can be moved. */
const clock = new TestClock()
let t: TestApp
let url: string
beforeAll(async () => {
  t = await testApp({}, clock.now)
  url = t.app.url
}, 60_000)
afterAll(() => t?.close())

test('what needs a fresh proof asks for it, once, and then goes on', async () => {
  const ada = await Visitor.open({ url })
  await ada.register('Ada Lovelace', `ada-${crypto.randomUUID()}@example.com`)
  await ada.goto('/account')
  const move = ada.page.locator('form', { has: ada.page.getByLabel('New e-mail address') })
  await ada.page.getByLabel('New e-mail address').fill(`other-${crypto.randomUUID()}@example.com`)
  clock.forward({ minutes: 6 })
  const dialog = ada.page.getByRole('dialog', { name: 'Is it you?' })
  const confirm = dialog.getByRole('button', { name: 'Confirm' })

  await ada.button('Change address').click()
  await dialog.waitFor()
  expect(await ada.focused().getAttribute('name')).toBe('password')
  await ada.page.keyboard.press('Escape')
  await move.getByRole('alert').filter({ hasText: 'You have not confirmed that it is you, so nothing was done.' }).waitFor()

  await ada.button('Change address').click()
  await dialog.getByLabel('Password').fill('not the right one')
  await confirm.click()
  await dialog.getByRole('alert').filter({ hasText: 'The password is wrong.' }).waitFor()
  await dialog.getByLabel('Password').fill(PASSWORD)
  await confirm.click()
  await ada.see('A link is on its way to')
  await dialog.waitFor({ state: 'detached' })
  await ada.leave('POST /api/auth/email-change 403', 'POST /api/auth/email-change 403', 'POST /api/auth/reauth 403')
}, 60_000)

test('who has no password confirms by a mailed code', async () => {
  const ada = await Visitor.open({ url })
  const email = `ada-${crypto.randomUUID()}@example.com`
  await ada.register('Ada Lovelace', email)
  await ada.authenticator()
  await ada.goto('/account')
  clock.forward({ minutes: 6 })
  const passkeys = ada.section('Passkeys')
  await passkeys.getByLabel('Name').fill('blue key')
  await passkeys.getByRole('button', { name: 'Add a passkey' }).click()
  const dialog = ada.page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'I have no password: mail me a code' }).click()
  const field = dialog.getByLabel(`Code sent to ${email}`)
  await field.fill(await codeFor(email))
  expect(await ada.focused().getAttribute('name')).toBe('code')
  await ada.page.keyboard.press('Enter')
  await passkeys.getByText('never used').waitFor()
  await ada.leave('POST /api/auth/passkey/register/begin 403')
}, 60_000)

test('an access token that has run out is renewed, and the proof asked for after that', async () => {
  const ada = await Visitor.open({ url })
  await ada.register('Ada Lovelace', `ada-${crypto.randomUUID()}@example.com`)
  await ada.goto('/account')
  await ada.page.getByLabel('New e-mail address').fill(`other-${crypto.randomUUID()}@example.com`)
  clock.forward({ minutes: 20 })
  await ada.button('Change address').click()
  await ada.page.getByRole('dialog').getByLabel('Password').fill(PASSWORD)
  await ada.page.keyboard.press('Enter')
  await ada.see('A link is on its way to')
  await ada.leave('POST /api/auth/email-change 401', 'POST /api/auth/email-change 403')
}, 60_000)

test('two tabs that renew at the same moment do not end the session', async () => {
  const ada = await Visitor.open({ url })
  const { email } = await ada.register('Ada Lovelace', `ada-${crypto.randomUUID()}@example.com`)
  await ada.goto('/account')
  await ada.see('this browser')
  const tabs = [ada.page, ada.watch(await ada.context.newPage()), ada.watch(await ada.context.newPage())]
  clock.forward({ minutes: 20 })
  await Promise.all(tabs.map((tab) => tab.goto(`${url}/account`)))
  for (const tab of tabs) await tab.getByText('this browser').waitFor()
  expect(await ada.me()).toBe(email)
  await ada.leave(...tabs.map(() => 'GET /api/auth/me 401'))
}, 60_000)

async function codeFor(email: string): Promise<string> {
  const { openCode } = await import('../../src/auth/once.ts')
  const { systemCtx } = await import('../support/app.ts')
  return (await openCode(systemCtx(t), email))?.code as string
}
