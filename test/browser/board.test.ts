import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { tasks } from '../../src/features/tasks/table.ts'
import { person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import { pasteText } from './paste.ts'
import { call, type Made, newProject, newTask, signedIn, type Visitor } from './support.ts'

/** The board and the list in a real browser: cards and rows as links, tasks added in place, the column Done. */
const t = await sharedApp()

interface Task extends Made {
  title: string
  status: string
  labels: string[]
  assignee: { id: string } | null
}
const column = (who: Visitor, name: string) => who.page.getByRole('region', { name: new RegExp(`^${name},`) })
const link = (who: Visitor, key: string) => who.page.getByRole('link', { name: new RegExp(`${key} `) })
const field = (who: Visitor, group: string) =>
  who.page.getByRole('textbox', { name: `Title of a new task in ${group}`, exact: true })
const tasksOf = async (who: Visitor, projectId: string) =>
  (await call<{ items: Task[] }>(who, 'GET', `/api/tasks?projectId=${projectId}&sort=number&order=asc&limit=100`)).items

test('a card and a row are links with flags and counts: a click opens the panel, Ctrl and the middle button a tab', async () => {
  const ada = await signedIn(t, (await person(t)).email)
  const { slug } = await newProject(ada)
  const long = `Splice${'ropes'.repeat(20)}`
  const rope = await newTask(ada, slug, { title: long })
  const sail = await newTask(ada, slug, { title: 'Sail', blockedBy: [rope.key] })
  const part = await newTask(ada, slug, { title: 'Strand', parentId: rope.id })
  const knot = await newTask(ada, slug, { title: 'Knot', parentId: rope.id })
  await call(ada, 'POST', `/api/tasks/${part.key}/complete`, {})

  for (const view of ['board', 'list&group=none']) {
    await ada.goto(`/projects/${slug}/tasks?view=${view}`)
    for (const [key, text] of [
      [rope.key, '1/2'],
      [rope.key, 'frees 1'],
      [sail.key, 'waits for 1'],
      [knot.key, 'ready'],
    ] as const)
      await ada.page
        .getByRole('listitem')
        .filter({ has: link(ada, key) })
        .getByText(text, { exact: true })
        .waitFor()
    expect(await axe(ada.page)).toEqual([])
    for (const how of [{ modifiers: ['Control' as const] }, { button: 'middle' as const }]) {
      const [tab] = await Promise.all([ada.context.waitForEvent('page'), link(ada, sail.key).click(how)])
      await tab.waitForURL(`**/tasks/${sail.key}`)
      await tab.close()
    }
    expect(ada.page.url()).not.toContain('open=')
    await link(ada, sail.key).click()
    await ada.page.waitForURL(`**open=${sail.key}`)
    await ada.page.keyboard.press('Escape')
    await ada.page.waitForURL((url) => !url.searchParams.has('open'))
    await link(ada, rope.key).focus()
    await ada.page.keyboard.press('Space')
    await ada.page.waitForURL(`**open=${rope.key}`)
  }
  await ada.goto(`/projects/${slug}/tasks`)
  const title = ada.page.getByRole('heading', { name: long, level: 3 })
  const isCut = await title.evaluate((element) => {
    const { scrollWidth, clientWidth } = element as unknown as { scrollWidth: number; clientWidth: number }
    return scrollWidth > clientWidth
  })
  expect(isCut).toBe(false)
  await ada.leave()
}, 300_000)

test('a column takes tasks at its end: Enter adds and stays, a pasted list asks first, filters become values', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { id, slug } = await newProject(ada)
  const { keyboard } = ada.page
  await newTask(ada, slug, { title: 'Rope', labels: ['rig'], assignee: 'me', status: 'backlog' })
  await ada.goto(`/projects/${slug}/tasks?label=rig&assignee=me`)
  const adds = (name: string) => ada.page.getByRole('button', { name: `Add to ${name}`, exact: true })
  await adds('Todo').click()
  await keyboard.type('Sail')
  await keyboard.press('Enter')
  // The second one does not wait for the first.
  await keyboard.type('Mast')
  await keyboard.press('Enter')
  await column(ada, 'Todo').getByText('Mast').waitFor()
  expect((await tasksOf(ada, id)).map(({ title }) => title)).toEqual(['Rope', 'Sail', 'Mast'])

  await pasteText(ada, '- Keel\n2. Oar\n[ ] Flag\n\n* Bell\n')
  await column(ada, 'Todo').getByText('Add 4 tasks?').waitFor()
  expect(await axe(ada.page)).toEqual([])
  await keyboard.press('Escape')
  await ada.page.getByText('Add 4 tasks?').waitFor({ state: 'detached' })
  await pasteText(ada, '- Keel\n2. Oar\n[ ] Flag\n\n* Bell\n')
  await keyboard.press('Enter')
  await column(ada, 'Todo').getByText('Bell').waitFor()
  expect(await ada.focused().getAttribute('aria-label')).toBe('Title of a new task in Todo')
  await keyboard.press('Escape')
  await until(async () => (await ada.focused().getAttribute('aria-label')) === 'Add to Todo')

  // A task that the server did not create is kept, and is created once.
  await ada.page.route('**/tasks/batch', (route) =>
    route.fulfill({ status: 503, json: { detail: 'The server stops.' } }),
  )
  await adds('In progress').click()
  await keyboard.type('Helm')
  await keyboard.press('Enter')
  await column(ada, 'In progress').getByText('1 task not added: The server stops.').waitFor()
  await ada.page.unroute('**/tasks/batch')
  await keyboard.press('Enter')
  await column(ada, 'In progress').getByRole('heading', { name: 'Helm' }).waitFor()
  const made = await tasksOf(ada, id)
  expect(made.map(({ title }) => title)).toEqual(['Rope', 'Sail', 'Mast', 'Keel', 'Oar', 'Flag', 'Bell', 'Helm'])
  expect(made.slice(1).map(({ status }) => status)).toEqual([...Array(6).fill('todo'), 'in_progress'])
  expect(new Set(made.map(({ labels, assignee }) => `${labels} ${assignee?.id}`))).toEqual(
    new Set([`rig ${boss.userId}`]),
  )
  expect(await ada.page.getByRole('button', { name: /^Add to (Done|Blocked)/ }).count()).toBe(0)

  await ada.goto(`/projects/${slug}/tasks?view=list&group=priority`)
  await adds('Medium').click()
  await keyboard.type('Anchor')
  await keyboard.press('Enter')
  await link(ada, 'Anchor').waitFor()
  expect(await field(ada, 'Medium').inputValue()).toBe('')
  await ada.leave(`POST /api/projects/${slug}/tasks/batch 503`)
}, 300_000)

test('the column Done has the newest task first and only those of this week, until older ones are asked for', async () => {
  const ada = await signedIn(t, (await person(t)).email, { viewport: { width: 1600, height: 800 } })
  const { slug, key } = await newProject(ada)
  for (const title of ['Old', 'First', 'Second', 'Third']) await newTask(ada, slug, { title })
  for (const n of [1, 2, 3]) await call(ada, 'POST', `/api/tasks/${key}-${n}/complete`, {})
  const old = await call<Task>(ada, 'GET', `/api/tasks/${key}-1`)
  const completedAt = new Date(Date.now() - 8 * 86_400_000).toISOString()
  await t.app.db.update(tasks).set({ completedAt }).where(eq(tasks.id, old.id))
  await ada.goto(`/projects/${slug}/tasks`)
  const done = column(ada, 'Done')
  const titles = () => done.getByRole('heading', { level: 3 }).allTextContents()
  await done.getByText('2 this week').waitFor()
  expect(await titles()).toEqual(['Second', 'First'])
  // A task that is moved there is the newest, wherever it is dropped.
  await link(ada, `${key}-4`).dragTo(link(ada, `${key}-2`))
  await done.getByText('3 this week').waitFor()
  expect(await titles()).toEqual(['Third', 'Second', 'First'])
  await ada.button('Show 1 older').click()
  await done.getByText('Old', { exact: true }).waitFor()
  expect(await titles()).toEqual(['Third', 'Second', 'First', 'Old'])
  await ada.leave()
}, 300_000)

test('the menu of a card locks refused actions with their reason, and changes the task', async () => {
  const phone = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const }
  const ada = await signedIn(t, (await person(t)).email, phone)
  const { slug, key } = await newProject(ada)
  const rope = await newTask(ada, slug, { title: 'Rope' })
  await newTask(ada, slug, { title: 'Sail', blockedBy: [rope.key] })
  await ada.goto(`/projects/${slug}/tasks`)
  const menu = (n: number) => ada.page.getByRole('button', { name: `Menu of ${key}-${n}` })
  const entry = (name: string | RegExp) => ada.page.getByRole('menuitem', { name, exact: typeof name === 'string' })
  await menu(2).click()
  for (const name of ['Claim', 'Complete']) {
    const locked = entry(new RegExp(`^${name} .*${rope.key}`))
    await locked.waitFor()
    expect(await locked.getAttribute('aria-disabled')).toBe('true')
    await locked.click({ force: true })
  }
  await entry('Priority').click()
  await ada.page.getByRole('option', { name: 'High' }).click()
  await until(async () => (await call<{ priority: string }>(ada, 'GET', `/api/tasks/${key}-2`)).priority === 'high')
  await menu(1).click()
  await entry('Complete').click()
  await ada.see(`${key}-1 completed`)
  await menu(2).click()
  await entry('Claim').click()
  await until(async () => (await call<Task>(ada, 'GET', `/api/tasks/${key}-2`)).status === 'in_progress')
  await ada.leave()
}, 300_000)
