import { expect, test } from 'bun:test'
import { PASSWORD } from '../support/binary.ts'
import { api, fresh, Visitor } from './support.ts'

const NEW_PASSWORD = 'seven quiet lamps at dusk'

test('somebody registers, makes a token and a key that are shown once, and ends them', async () => {
  const ada = await Visitor.open({ permissions: ['clipboard-read', 'clipboard-write'] })
  const email = fresh('ada')
  await ada.goto('/account')
  await ada.page.waitForURL('**/login?next=%2Faccount')
  await ada.page.getByRole('link', { name: 'Create an account' }).click()
  await ada.fill({ name: 'Ada Lovelace', email, password: 'password1234' })
  await ada.page.keyboard.press('Enter')
  await ada.page.getByRole('alert').filter({ hasText: 'too easy to guess' }).waitFor()
  await ada.fill({ password: PASSWORD })
  await ada.page.keyboard.press('Enter')
  await ada.page.waitForURL('**/account')
  await ada.see(`Ada Lovelace · ${email}`)

  const agents = ada.section('Agents')
  await agents.getByText('None yet').waitFor()
  await agents.getByLabel('Name').fill('laptop')
  await agents.getByRole('button', { name: 'Create a token' }).dblclick()
  const token = (await agents.locator('.once code').first().textContent()) as string
  expect(token).toMatch(/^svc_live_\w{38}$/)
  expect(await agents.locator('.once code').last().textContent()).toContain(
    `${ada.url}/mcp --header "Authorization: Bearer ${token}"`,
  )
  // Where somebody reads on, and only one for two clicks.
  expect(await ada.focused().textContent()).toContain('shown only once')
  expect(await agents.getByRole('listitem').count()).toBe(1)
  await agents.getByRole('button', { name: 'Copy' }).first().click()
  await agents.getByText('Copied').waitFor()
  expect(await ada.page.evaluate<string>('navigator.clipboard.readText()')).toBe(token)

  const keys = ada.section('API keys')
  await keys.getByLabel('Name').fill('deploy')
  await keys.getByRole('button', { name: 'Create a key' }).click()
  const key = (await keys.locator('.once code').textContent()) as string
  expect((await api('PATCH', '/api/auth/profile', { bio: 'made by a script' }, key)).bio).toBe('made by a script')

  // As when the way back leads to a page that the browser has kept in memory.
  await ada.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
  await agents.locator('.once').waitFor({ state: 'detached' })
  await agents.getByText('laptop').waitFor()
  await keys.getByText('deploy').waitFor()
  expect(await ada.page.content()).not.toContain(token)
  expect(await ada.page.content()).not.toContain(key)

  const revoke = agents.getByRole('button', { name: 'Revoke laptop' })
  await revoke.click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  expect(await ada.focused().getAttribute('aria-label')).toBe('Revoke laptop')
  await revoke.click()
  await ada.page.keyboard.press('Escape')
  await revoke.click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await agents.getByText('None yet').waitFor()
  expect(await ada.focused().textContent()).toBe('Agents')
  await ada.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401', 'POST /api/auth/register 422')
}, 300_000)

test('other sessions are ended one by one, and all of them by a new password', async () => {
  const [laptop, phone] = [
    await Visitor.open(),
    await Visitor.open({ userAgent: 'Mozilla/5.0 (iPhone) AppleWebKit/605.1 Safari/604.1' }),
  ]
  const { email } = await laptop.register('Grace Hopper')
  const enter = async () => {
    await phone.goto('/login?next=/account')
    await phone.fill({ email, password: PASSWORD })
    await phone.button('Sign in').click()
    await phone.see('Your account')
    await phone.see('this browser')
  }
  await enter()
  await laptop.goto('/manual')
  await laptop.goto('/account')
  const sessions = laptop.section('Where you are signed in')
  await sessions.getByText('this browser').waitFor()
  expect(await sessions.getByRole('listitem').count()).toBe(2)
  // The session of this browser has no button that ends it.
  expect(await sessions.getByRole('button').count()).toBe(1)
  await sessions.getByRole('button', { name: 'End Safari on iPhone' }).click()
  await laptop.page.getByRole('dialog').getByRole('button', { name: 'End' }).click()
  await sessions.getByText('iPhone').waitFor({ state: 'detached' })
  // Whatever is pressed there next leads to the sign-in page.
  await phone.button('Change name').click()
  await phone.page.waitForURL('**/login?next=%2Faccount')

  await enter()
  const form = laptop.section('Password')
  await form.getByLabel('Current password').fill('not the right one')
  await form.getByLabel('New password').fill(NEW_PASSWORD)
  await form.getByRole('button').click()
  await form.getByRole('alert').filter({ hasText: 'current password is wrong' }).waitFor()
  await form.getByLabel('Current password').fill(PASSWORD)
  await form.getByRole('button').click()
  await laptop.page.getByRole('status').filter({ hasText: 'Your password was changed.' }).waitFor()
  expect(await laptop.focused().textContent()).toContain('Your password was changed.')
  expect(await laptop.me()).toBe(email)
  await phone.page.reload()
  await phone.page.waitForURL('**/login?next=%2Faccount')

  await laptop.button('Sign out').click()
  await laptop.page.waitForURL('**/login')
  // Going back does not show the account again.
  await laptop.page.goBack()
  expect(laptop.page.url()).toBe(`${laptop.url}/manual`)
  expect(await laptop.me()).toBeUndefined()
  laptop.secrets.push(NEW_PASSWORD)
  const out = ['GET /api/auth/me 401', 'POST /api/auth/refresh 401']
  await phone.leave('PATCH /api/auth/profile 401', 'POST /api/auth/refresh 401', ...out)
  await laptop.leave('POST /api/auth/change-password 403')
}, 300_000)
