import { expect, test } from 'bun:test'
import { PASSWORD } from '../support/binary.ts'
import { until } from '../support/until.ts'
import { fresh, Visitor } from './support.ts'

const NEW_PASSWORD = 'seven quiet lamps at dusk'

test('/account redirects to the settings, also after registering on the way', async () => {
  const ada = await Visitor.open()
  await ada.goto('/account')
  await ada.page.waitForURL('**/login?next=%2Fsettings%2Fprofile')
  await ada.page.getByRole('link', { name: 'Create an account' }).click()
  await ada.fill({ name: 'Ada Lovelace', email: fresh('ada'), password: 'password1234' })
  await ada.enter()
  await ada.page.getByRole('alert').filter({ hasText: 'too easy to guess' }).waitFor()
  await ada.fill({ password: PASSWORD })
  await ada.enter()
  await ada.page.waitForURL('**/settings/profile*')
  await until(async () => (await ada.page.getByLabel('Name', { exact: true }).inputValue()) === 'Ada Lovelace')
  expect(ada.refused).toContain('POST /api/auth/register 422')
  await ada.leave(...ada.refused)
}, 300_000)

test('a user ends other login sessions one by one, and all of them by changing the password', async () => {
  const [laptop, phone] = [
    await Visitor.open(),
    await Visitor.open({ userAgent: 'Mozilla/5.0 (iPhone) AppleWebKit/605.1 Safari/604.1' }),
  ]
  const { email } = await laptop.register('Grace Hopper')
  const enter = async () => {
    await phone.goto('/login?next=/settings/sessions')
    await phone.fill({ email, password: PASSWORD })
    await phone.button('Sign in').click()
    await phone.see('this browser')
  }
  // The page may already be on its way there by itself.
  const expectSignedOut = async () => {
    await phone.goto('/settings/sessions').catch(() => undefined)
    await phone.page.waitForURL('**/login?next=%2Fsettings%2Fsessions*')
  }
  await enter()
  await laptop.goto('/settings/sessions')
  const sessions = laptop.page.getByRole('list', { name: 'Active sessions' })
  await sessions.getByText('this browser').waitFor()
  expect(await sessions.getByRole('listitem').count()).toBe(2)
  // The session of this browser has no button that ends it.
  expect(await sessions.getByRole('button').count()).toBe(1)
  await sessions.getByRole('button', { name: 'End Safari on iPhone' }).click()
  await sessions.getByText('iPhone').waitFor({ state: 'detached' })
  // The page that is open says so: by itself, or as soon as it asks the server for something.
  await phone.page
    .getByRole('link', { name: 'Your data' })
    .click({ timeout: 5000 })
    .catch(() => undefined)
  await phone.page.getByRole('status').filter({ hasText: 'Your session has ended.' }).waitFor()
  await expectSignedOut()

  await enter()
  await laptop.goto('/settings/security')
  await laptop.page.getByLabel('Current password').fill('not the right one')
  await laptop.page.getByLabel('New password').fill(NEW_PASSWORD)
  await laptop.button('Change password').click()
  await laptop.page.getByRole('alert').filter({ hasText: 'current password is wrong' }).waitFor()
  await laptop.page.getByLabel('Current password').fill(PASSWORD)
  await laptop.button('Change password').click()
  await laptop.page.getByRole('status').filter({ hasText: 'Your password was changed.' }).waitFor()
  expect(await laptop.me()).toBe(email)
  await expectSignedOut()

  await laptop.button('Your account: Grace Hopper').click()
  await laptop.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await laptop.page.waitForURL('**/login')
  expect(await laptop.me()).toBeUndefined()
  laptop.secrets.push(NEW_PASSWORD)
  expect(laptop.refused).toContain('POST /api/auth/change-password 403')
  await phone.leave(...phone.refused)
  await laptop.leave(...laptop.refused)
}, 300_000)
