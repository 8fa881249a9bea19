import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../src/db/columns.ts'
import { TestClock } from '../features/support.ts'
import { logged, PASSWORD, type TestApp, testApp, unique } from '../support/app.ts'
import { call, evil, expectSound, inEachLook, isLive, looks, type Made, thorough, Visitor } from './support.ts'

/** The settings of an account in a real browser, with a clock that can be moved. */
const clock = new TestClock()
let t: TestApp
beforeAll(async () => {
  t = await testApp({}, clock.now)
}, 300_000)
afterAll(() => t?.close())

async function registered(options: object = {}, name = 'Ada Lovelace'): Promise<{ ada: Visitor; email: string }> {
  const ada = await Visitor.open({ at: { url: t.app.url, output: () => logged.join('') }, ...options })
  const email = `${unique('ada')}@example.com`
  await ada.register(name, email)
  return { ada, email }
}

test('a user manages their profile, passkeys, API keys and sessions, after confirming their identity', async () => {
  const { ada, email } = await registered()
  await ada.authenticator()
  await ada.goto('/settings')
  await ada.page.waitForURL('**/settings/profile*')
  await ada.page.getByLabel('Name', { exact: true }).fill('Ada King')
  await ada.button('Save').click()
  await ada.page.getByText('Saved', { exact: true }).waitFor()

  await ada.page.getByRole('link', { name: 'Passkeys' }).click()
  await ada.page.getByRole('heading', { name: 'Passkeys', level: 1 }).waitFor()
  await isLive(ada)
  clock.forward({ minutes: 6 })
  await ada.page.getByLabel('Name', { exact: true }).fill('blue key')
  await ada.button('Add a passkey').click()
  // The act waits for the proof, and is then done.
  const dialog = ada.page.getByRole('dialog')
  await dialog.getByRole('textbox').or(dialog.locator('input[type=password]')).first().fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  await ada.page.getByRole('list', { name: 'Passkeys' }).getByText('blue key').waitFor()

  await ada.page.getByRole('link', { name: 'API keys' }).click()
  // The page before has a field of this name too.
  await ada.page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
  await ada.page.getByLabel('Name', { exact: true }).fill('deploy')
  await ada.button('Create a key').click()
  await ada.page.locator('.secret', { hasText: /^svc_/ }).waitFor()
  await ada.button('I stored it').click()
  const keys = ada.page.getByRole('list', { name: 'API keys' })
  await keys.getByText('deploy').waitFor()
  await keys.getByRole('button', { name: 'Revoke' }).click()
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await ada.see('None yet.')

  await ada.page.getByRole('link', { name: 'Active sessions' }).click()
  await ada.see(/this browser/)
  await ada.page.getByRole('link', { name: 'Your data' }).click()
  const download = ada.page.waitForEvent('download')
  await ada.button('Download').click()
  expect((await download).suggestedFilename()).toEndWith('.ndjson')
  await ada.button('Delete my account…').click()
  const forEver = dialog.getByRole('button', { name: 'Delete permanently' })
  expect(await forEver.isDisabled()).toBe(true)
  await dialog.getByLabel(`Type ${email} to confirm`).fill(email)
  await forEver.click()
  await ada.page.waitForURL('**/login*')
  await ada.leave(...ada.refused)
}, 300_000)

interface Pushed {
  receipts: { conflicts?: string[] }[]
}

/** A device whose change of a note's title meets another one. */
async function conflict(ada: Visitor, title: string, mine: string): Promise<Made> {
  const note = await call<Made>(ada, 'POST', '/api/notes', { title })
  const about = { name: evil.slice(0, 60), platform: 'linux x64', schema: '2026-11-16' }
  const { deviceId } = await call<{ deviceId: string }>(ada, 'POST', '/api/sync/devices/register', about)
  const [base, fields] = [{ title: 'What it was' }, { title: mine }]
  const mutations = [{ mutationId: newId(), entity: 'note', id: note.id, op: 'upsert', fields, base }]
  const { receipts } = await call<Pushed>(ada, 'POST', '/api/sync/push', { deviceId, mutations })
  expect(receipts[0]?.conflicts).toHaveLength(1)
  return note
}

test('sync conflicts are shown side by side and resolved with the value of the server, of the device, or another one', async () => {
  for (const look of looks) {
    const { ada } = await registered(look)
    await ada.goto('/settings/data')
    await ada.page.getByRole('link', { name: 'Conflicts' }).click()
    await ada.page.waitForURL('**/sync/conflicts*')
    await ada.see('No conflicts')
    await ada.see('tutti sync')
    const notes = [
      await conflict(ada, evil.slice(0, 80), 'Mine'),
      await conflict(ada, 'Theirs', 'Of the device'),
      await conflict(ada, 'Rope', 'Cord'),
    ]
    await expectSound(ada, '/sync/conflicts', 'main .sdiff')
    const shown = ada.page.locator('main .conflict')
    await shown.nth(2).waitFor()
    await shown.filter({ hasText: 'What it was' }).first().waitFor({ state: 'attached' })
    await shown.filter({ hasText: 'Mine' }).getByRole('button', { name: 'Use the device’s value' }).click()
    await shown.nth(2).waitFor({ state: 'detached' })
    await shown.filter({ hasText: 'Of the device' }).getByRole('button', { name: 'Keep the server’s value' }).click()
    await shown.nth(1).waitFor({ state: 'detached' })
    await shown.getByRole('button', { name: 'Enter another value' }).click()
    await ada.page.getByRole('textbox', { name: 'Value' }).fill('Rope and cord')
    await ada.page.keyboard.press('Control+Enter')
    await ada.see('No conflicts')
    const titles = await Promise.all(notes.map(({ id }) => call<{ title: string }>(ada, 'GET', `/api/notes/${id}`)))
    expect(titles.map(({ title }) => title)).toEqual(['Mine', 'Theirs', 'Rope and cord'])
    await ada.leave()
  }
}, 300_000)

thorough(
  'every settings page shows stored markup as text and passes axe',
  async () => {
    const pages = 'profile security passkeys sessions keys accounts integrations preferences notifications data'
    const { ada } = await registered({}, evil.slice(0, 90))
    await inEachLook(ada, async () => {
      for (const page of pages.split(' ')) await expectSound(ada, `/settings/${page}`, '.setpage h1')
    })
    await ada.leave()
  },
  300_000,
)
