import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { paths } from '../../src/paths.ts'
import { logged, member, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import {
  call,
  evil,
  expectSound,
  inEachLook,
  newProject,
  newTask,
  signedIn as open,
  thorough,
  Visitor,
} from './support.ts'

/** The dashboard in a real browser: the board, the list, a task, and who may do what there. */
const t = await sharedApp()
const signedIn = (email: string, options: object = {}) => open(t, email, options)
const statusOf = async (who: Visitor, key: string) =>
  (await call<{ status: string }>(who, 'GET', `/api/tasks/${key}`)).status

const card = (who: Visitor, key: string) => who.page.getByRole('link', { name: new RegExp(`^${key} `) })
const column = (who: Visitor, name: string) => who.page.getByRole('region', { name: new RegExp(`^${name},`) })

test('a task is created, moved and completed by keyboard alone', async () => {
  const boss = await person(t)
  const ada = await signedIn(boss.email, { colorScheme: 'dark' })
  const { slug, key } = await newProject(ada)
  await ada.goto(`/projects/${slug}/tasks`)
  await ada.see('No tasks yet')
  await ada.page.keyboard.press('c')
  await ada.page.getByLabel('Title').fill('Read a book offline')
  await ada.page.keyboard.press('Enter')
  await card(ada, `${key}-1`).waitFor()
  let moves = 0
  ada.page.on('response', (response) => {
    if (response.request().method() === 'PATCH') moves++
  })
  await card(ada, `${key}-1`).focus()
  await ada.page.keyboard.press('Alt+ArrowRight')
  await column(ada, 'In progress').getByRole('button').first().waitFor()
  await ada.see(`${key}-1 → In progress`)
  // It is still the one that keys move, and two quick moves are no conflict.
  await ada.page.keyboard.press('Alt+ArrowRight')
  await ada.page.keyboard.press('Alt+ArrowLeft')
  await ada.page.keyboard.press('Enter')
  const panel = ada.page.getByRole('region', { name: `${key}-1`, exact: true })
  await panel.getByLabel('Write a comment').fill('Works **without** a network')
  await ada.page.keyboard.press('Control+Enter')
  await panel.locator('strong', { hasText: 'without' }).waitFor()
  // Moves are sent one after the other, so the last may still be under way.
  while (moves < 3) await ada.page.waitForEvent('response')
  expect(await statusOf(ada, `${key}-1`)).toBe('in_progress')
  await panel.getByRole('button', { name: 'Complete' }).press('Enter')
  await panel.getByText('Done').waitFor()
  await until(async () => (await statusOf(ada, `${key}-1`)) === 'done')
  await ada.page.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  await ada.leave()
}, 300_000)

test('a move that the server refuses is undone, and the reason is shown', async () => {
  const boss = await person(t)
  const ada = await signedIn(boss.email)
  const { slug } = await newProject(ada)
  const first = await newTask(ada, slug, { title: 'Block store' })
  const second = await newTask(ada, slug, { title: 'Reader', blockedBy: [first.key] })
  await ada.goto(`/projects/${slug}/tasks`)
  await card(ada, second.key).dragTo(column(ada, 'In progress').getByRole('list'))
  await ada.see(new RegExp(`${second.key} cannot become in_progress: it waits for ${first.key}`))
  await column(ada, 'Todo')
    .getByRole('link', { name: new RegExp(`^${second.key} `) })
    .waitFor()
  expect(await statusOf(ada, second.key)).toBe('todo')
  await ada.leave(`PATCH /api/tasks/${second.id} 409`)
}, 300_000)

thorough(
  'the pages of projects and tasks show stored markup as text and pass axe',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(boss.email)
    const { slug } = await newProject(ada)
    const task = await newTask(ada, slug, {
      title: evil,
      description: `${evil}\n\n![far away](https://example.com/x.png)`,
      labels: [evil.slice(0, 40)],
      acceptance: [evil],
      dueAt: '2020-01-01',
      assignee: 'me',
    })
    await call(ada, 'POST', `/api/tasks/${task.key}/comments`, { body: evil })
    await inEachLook(ada, async () => {
      for (const [path, there] of [
        ['/projects', '.prow'],
        [`/projects/${slug}/tasks`, '.tcard'],
        [`/projects/${slug}/tasks?view=list`, '.li'],
        [`/projects/${slug}/tasks?open=${task.key}`, '.msg'],
        [`/tasks/${task.key}`, '.msg'],
      ] as const) {
        await expectSound(ada, path, `main ${there}`)
        expect(await ada.page.locator('main img').count()).toBe(0)
      }
    })
    await ada.leave()
  },
  300_000,
)

thorough(
  'a viewer sees no control of tasks that the server would refuse',
  async () => {
    const boss = await person(t)
    const viewer = await member(t, boss, 'viewer', 'Vera')
    const ada = await signedIn(boss.email)
    const { slug } = await newProject(ada)
    const task = await newTask(ada, slug, { title: 'Read only', acceptance: ['Nothing changes'] })
    const team = (await call<{ slug: string }>(ada, 'GET', '/api/team')).slug
    const vera = await signedIn(viewer.email)
    await vera.goto(`/projects/${slug}/tasks?open=${task.key}&team=${team}`)
    await vera.page.locator('.panel').getByText('Nothing changes').waitFor()
    for (const name of ['New task', 'Complete', 'Claim', 'Send', 'Add to Todo'])
      expect(await vera.page.getByRole('button', { name }).count()).toBe(0)
    expect(await vera.page.getByRole('checkbox').isDisabled()).toBe(true)
    await ada.context.close()
    await vera.leave()
  },
  300_000,
)

test('a visitor is sent to the sign-in page and back; an unknown address shows "Page not found"', async () => {
  const boss = await person(t)
  const stranger = await Visitor.open({ at: { url: t.app.url, output: () => logged.join('') } })
  await stranger.goto('/projects')
  await stranger.page.waitForURL(/\/login\?next=%2Fprojects/)
  await stranger.context.close()
  const ada = await signedIn(boss.email)
  await ada.goto('/tasks/NONE-1')
  await ada.see('Page not found')
  const missing = await ada.context.request.get(`${t.app.url}/projects/x/y/z`)
  expect(missing.status()).toBe(404)
  await ada.leave('GET /api/tasks/NONE-1 404')
}, 300_000)

test('the server serves exactly the addresses that the dashboard routes', async () => {
  const folder = join(import.meta.dir, '../../src/web/router')
  const files = [...new Bun.Glob('*.ts').scanSync(folder)]
  const source = (await Promise.all(files.map((file) => Bun.file(join(folder, file)).text()))).join('\n')
  const routed = [...source.matchAll(/(?: path: |page(?:With)?\(\s*)'([^']+)'/g)]
  const ofSettings = [...source.matchAll(/settingsPage\('([^']+)'/g)].map(([, path]) => `/settings${path}`)
  // The settings begin with a redirect, whose path is `/` too.
  const all = new Set([...routed.map(([, path]) => path?.replaceAll('$', ':')), ...ofSettings])
  expect([...all].sort()).toEqual([...paths].sort())
})

test('two people see each other’s changes without a reload', async () => {
  const boss = await person(t)
  const other = await member(t, boss, 'member', 'Ben')
  const ada = await signedIn(boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Shared' })
  const team = (await call<{ slug: string }>(ada, 'GET', '/api/team')).slug
  const ben = await signedIn(other.email)
  await ben.goto(`/projects/${slug}/tasks?team=${team}`)
  await card(ben, task.key).waitFor()
  await ben.see('Live')
  await ada.goto(`/projects/${slug}/tasks`)
  await card(ada, task.key).focus()
  await ada.page.keyboard.press('Alt+ArrowRight')
  await column(ben, 'In progress')
    .getByRole('link', { name: new RegExp(`^${task.key} `) })
    .waitFor()
  await ada.leave()
  await ben.leave()
}, 300_000)
