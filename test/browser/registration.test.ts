import { afterAll, beforeAll, expect, test } from 'bun:test'
import { outbox } from '../../src/features/mail/service.ts'
import { logged, PASSWORD, person, systemCtx, type TestApp, testApp, unique } from '../support/app.ts'
import { Visitor } from './support.ts'

/** An instance that strangers cannot join, served by this process. */
let t: TestApp
beforeAll(async () => {
  t = await testApp({ REGISTRATION: 'closed' })
}, 300_000)
afterAll(() => t?.close())

const visit = () => Visitor.open({ at: { url: t.app.url, output: () => logged.join('') } })

test('the registration page says that registration is closed', async () => {
  const ada = await visit()
  await ada.goto('/login')
  await ada.page.locator('form button:enabled').waitFor()
  expect(await ada.page.getByRole('link', { name: 'Create an account' }).count()).toBe(0)
  await ada.goto('/register?next=/device')
  await ada.see('This server does not accept new registrations.')
  expect(await ada.page.locator('form').count()).toBe(0)
  await ada.page.getByRole('link', { name: 'I already have an account' }).click()
  await ada.page.waitForURL('**/login?next=/device')
  await ada.leave()
}, 300_000)

test('an invitation opens a closed registration; a withdrawn one does not, and is forgotten', async () => {
  const host = await person(t, { name: 'Charles Babbage', admin: true })
  const email = `${unique('ada')}@example.com`
  const { body: team } = await host.fetch<{ id: string }>('POST', '/api/teams', { name: 'Analytical Engines' })
  const invite = async () => {
    const { body } = await host.fetch<{ id: string }>('POST', `/api/teams/${team.id}/invite`, { email })
    const { items } = await outbox(systemCtx(t), { readable: true })
    const path = /\/invite#\S+/.exec(items.find((mail) => mail.to === email)?.text ?? '')?.[0] as string
    return { path, withdraw: () => host.fetch('DELETE', `/api/teams/${team.id}/invites/${body.id}`) }
  }

  const ada = await visit()
  const first = await invite()
  await ada.goto(first.path)
  await ada.page.getByRole('link', { name: 'Create an account' }).click()
  await ada.see('Create an account to join Analytical Engines.')
  expect((await first.withdraw()).status).toBe(200)
  await ada.fill({ name: 'Ada Lovelace', password: PASSWORD })
  await ada.button('Create account').click()
  const alert = ada.page.getByRole('alert').filter({ hasText: 'was already used, withdrawn or replaced' })
  await alert.waitFor()
  await ada.page.reload()
  await alert.waitFor()
  await ada.page.reload()
  await ada.see('This server does not accept new registrations.')

  await ada.goto((await invite()).path)
  await ada.page.getByRole('link', { name: 'Create an account' }).click()
  await ada.fill({ name: 'Ada Lovelace', password: PASSWORD })
  await ada.button('Create account').click()
  await ada.page.waitForURL(`${ada.url}/`)
  expect(await ada.teams()).toContain('Analytical Engines')
  const out = ['GET /api/auth/me 401', 'POST /api/auth/refresh 401']
  await ada.leave(...out, 'POST /api/auth/register 410', 'POST /api/invites/preview 410', ...out)
}, 300_000)
