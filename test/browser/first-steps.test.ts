import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ownApp } from '../features/support.ts'
import { mcpToken, person, call as request, type TestApp } from '../support/app.ts'
import { call, expectSound, inEachLook, signedIn } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = await ownApp(undefined, { background: 'off' })
}, 300_000)
afterAll(() => t?.close())

test('the first steps offer a sample project, tick themselves, can be hidden, and come back from the help menu', async () => {
  const who = await person(t, { name: 'Ada Lovelace' })
  const ada = await signedIn(t, who.email)
  const { keyboard } = ada.page
  await inEachLook(ada, () => expectSound(ada, '/', '.hsteps'))
  await ada.goto('/')
  await ada.page.getByRole('heading', { name: 'Welcome, Ada' }).waitFor()
  const step = (title: string) => ada.page.locator('.hstep').filter({ hasText: title })
  const done = (title: string) => step(title).getByLabel('done').waitFor()
  await step('Give it a task').getByText('Create a project first.').waitFor()

  await ada.button('Try a sample project').click()
  await ada.page.waitForURL('**/projects/sample-project/tasks')
  await ada.see('Retry a phone that does not respond')
  // The page of a deleted project would ask for it again.
  await ada.goto('/inbox')
  await call(ada, 'DELETE', '/api/projects/sample-project')
  await ada.goto('/')

  await ada.page.getByLabel('Name of the project').focus()
  await keyboard.type('Lantern')
  await keyboard.press('Tab')
  await keyboard.type('lan')
  await keyboard.press('Enter')
  await done('Create a project')
  await ada.page.getByRole('heading', { name: 'Needs you' }).waitFor()

  await step('Connect an agent').getByText('Waiting for the first call').waitFor()
  const token = await mcpToken(t, who)
  await request(
    t,
    'POST',
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { authorization: `Bearer ${token}` },
  )
  await done('Connect an agent')

  await ada.page.getByLabel('What the agent should do').fill('Plan this project from README.md')
  await keyboard.press('Enter')
  // All steps are done: the page is the usual one.
  await ada.page.locator('.hsteps').waitFor({ state: 'detached' })
  const { items } = await call<{ items: { key: string; title: string }[] }>(ada, 'GET', '/api/tasks')
  expect(items.map(({ key, title }) => [key, title])).toEqual([['LAN-1', 'Plan this project from README.md']])

  const fromHelp = async () => {
    await ada.button('Help and shortcuts').click()
    await ada.page.getByRole('menuitem', { name: 'First steps' }).click()
    await done('Give it a task')
  }
  await fromHelp()
  await ada.button('Hide these steps').focus()
  await keyboard.press('Enter')
  await ada.page.locator('.hsteps').waitFor({ state: 'detached' })
  await ada.page.reload()
  await ada.page.getByRole('heading', { name: 'Needs you' }).waitFor()
  expect(await ada.page.locator('.hsteps').count()).toBe(0)
  await fromHelp()
  await ada.leave()
}, 300_000)
