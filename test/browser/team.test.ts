import { afterAll, expect, test } from 'bun:test'
import { TestClock } from '../features/support.ts'
import { member, PASSWORD, person, testApp, unique } from '../support/app.ts'
import { isLive, signedIn } from './support.ts'

/** The page of a team: what only its admins and owners at a browser may do with its members and invites. */
const clock = new TestClock()
const t = await testApp({}, clock.now)
afterAll(() => t.close())

test('an owner invites a person, copies the link, changes a role after confirming, and withdraws the invite', async () => {
  const boss = await person(t)
  const mary = await member(t, boss, 'viewer', `Mary ${'w'.repeat(60)}`)
  const ada = await signedIn(t, boss.email, { viewport: { width: 320, height: 700 }, colorScheme: 'dark' })
  await ada.goto('/team')
  const invites = ada.page.getByRole('region', { name: 'Invites' })
  const email = `${unique('guest')}@example.com`
  await invites.getByLabel('E-mail').fill(email)
  await invites.getByLabel('Role').selectOption('viewer')
  await ada.button('Invite').click()
  expect(await invites.locator('.secret code').textContent()).toStartWith(`${t.app.url}/invite#svc_inv_`)
  await invites.locator('li', { hasText: email }).getByText('viewer', { exact: true }).waitFor()

  await isLive(ada)
  clock.forward({ minutes: 6 })
  await ada.page.getByLabel(/^Role of Mary/).selectOption('admin')
  await ada.page.getByRole('dialog').getByLabel('Password').fill(PASSWORD)
  await ada.button('Confirm').click()
  await ada.page.getByRole('dialog').waitFor({ state: 'detached' })
  const chosen = ada.page.getByLabel(/^Role of Mary/).locator('option:checked', { hasText: 'admin' })
  await chosen.waitFor({ state: 'attached' })
  await invites.getByRole('button', { name: `Withdraw the invite for ${email}` }).click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
  await invites.getByText('No pending invites.').waitFor()
  await ada.leave(`PATCH /api/teams/${boss.organizationId}/members/${mary.userId} 403`)
}, 300_000)

test('a member sees who is online, and cannot change the team', async () => {
  const boss = await person(t)
  const mary = await member(t, boss, 'member', 'Mary')
  const email = `${unique('guest')}@example.com`
  await boss.fetch('POST', `/api/teams/${boss.organizationId}/invite`, { email })
  const visitor = await signedIn(t, mary.email)
  await visitor.goto(`/teams/${boss.organizationId}`)
  await visitor.page.waitForURL(/\/team\?team=/)
  await visitor.page.getByRole('region', { name: 'Invites' }).getByText(email).waitFor()
  await visitor.page.locator('main').getByRole('button').nth(2).waitFor()
  expect(await visitor.page.locator('main').getByRole('combobox').count()).toBe(0)
  expect(await visitor.page.locator('main').getByRole('button').allTextContents()).toEqual([
    'Leave',
    'Create',
    'Connect',
  ])
  await visitor.leave()
}, 300_000)
