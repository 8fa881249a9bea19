import { afterAll, expect, test } from 'bun:test'
import { TestClock } from '../features/support.ts'
import { logged, member, PASSWORD, person, testApp, unique } from '../support/app.ts'
import { Visitor } from './support.ts'

/** The page of a team: what only its admins and owners at a browser may do with its members and invites. */
const clock = new TestClock()
const t = await testApp({}, clock.now)
afterAll(() => t.close())
const at = { url: t.app.url, output: () => logged.join('') }

const look = (who: Visitor) =>
  who.page.evaluate<Record<string, unknown>>(`({
    headings: document.querySelectorAll('h1').length,
    nameless: [...document.querySelectorAll('input, select')].filter((f) => f.labels.length === 0).length,
    tooWide: document.documentElement.scrollWidth > innerWidth,
  })`)
const good = { headings: 1, nameless: 0, tooWide: false }

async function signedIn(email: string, options: object): Promise<Visitor> {
  const visitor = await Visitor.open({ at, ...options })
  const answer = await visitor.context.request.post(`${t.app.url}/api/auth/login`, {
    data: { email, password: PASSWORD },
    headers: { origin: t.app.url },
  })
  expect(answer.status()).toBe(200)
  return visitor
}

test('an owner invites, hands the link over, changes a role after a confirmation, and revokes', async () => {
  const boss = await person(t)
  const mary = await member(t, boss, 'viewer', `Mary ${'w'.repeat(60)}`)
  const ada = await signedIn(boss.email, { viewport: { width: 320, height: 700 }, colorScheme: 'dark' })
  await ada.goto('/team')
  const [members, invites] = [ada.section('Members'), ada.section('Invites')]
  const email = `${unique('guest')}@example.com`
  await invites.getByLabel('E-mail').fill(email)
  await invites.getByLabel('Role').selectOption('viewer')
  await ada.button('Invite').click()
  const link = invites.locator('.once code')
  expect(await link.textContent()).toStartWith(`${t.app.url}/invite#svc_inv_`)
  await invites.locator('li').getByText('viewer', { exact: true }).waitFor()
  expect(await look(ada)).toEqual(good)

  clock.forward({ minutes: 6 })
  await members.getByRole('button', { name: /^Change role Mary/ }).click()
  await ada.page.getByRole('dialog').getByLabel('Role').selectOption('admin')
  expect(await look(ada)).toEqual(good)
  await ada.button('Save').click()
  await ada.page.getByRole('dialog').getByLabel('Password').fill(PASSWORD)
  await ada.button('Confirm').click()
  await members.getByText('admin', { exact: true }).waitFor()
  await invites.getByRole('button', { name: `Revoke ${email}` }).click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await invites.getByText('None yet').waitFor()
  await ada.leave(`PATCH /api/teams/${boss.organizationId}/members/${mary.userId} 403`)
}, 300_000)

test('a member sees who is there, and nothing to change', async () => {
  const boss = await person(t)
  const mary = await member(t, boss, 'member', 'Mary')
  await boss.fetch('POST', `/api/teams/${boss.organizationId}/invite`, { email: `${unique('guest')}@example.com` })
  const visitor = await signedIn(mary.email, {})
  await visitor.goto(`/teams/${boss.organizationId}`)
  await visitor.section('Members').getByText('Mary').waitFor()
  await visitor.section('Invites').getByText('member', { exact: true }).waitFor()
  expect(await visitor.page.getByRole('button').count()).toBe(0)
  await visitor.leave()
}, 300_000)
