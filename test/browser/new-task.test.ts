import { expect, test } from 'bun:test'
import { catchUp } from '../../src/features/search/indexing/indexing.ts'
import type { TaskDetail } from '../../src/features/tasks/schema.ts'
import { member, person, sharedApp, systemCtx } from '../support/app.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import { pastePicture } from './paste.ts'
import { call, newProject, newTask, signedIn, type Visitor } from './support.ts'

/** The dialog for a new task, by keyboard alone. */
const t = await sharedApp()

const dialog = (who: Visitor) => who.page.getByRole('dialog', { name: 'New task' })
const property = (who: Visitor, name: string | RegExp) => dialog(who).getByRole('button', { name })
const tasksOf = async (who: Visitor, slug: string) =>
  (await call<{ items: TaskDetail[] }>(who, 'GET', `/api/tasks?projectId=${slug}&sort=number&order=asc`)).items
const readTask = (who: Visitor, key: string) => call<TaskDetail>(who, 'GET', `/api/tasks/${key}`)

test('a task is created with all properties, a picture and criteria; Create more keeps the properties', async () => {
  const boss = await person(t)
  await member(t, boss, 'member', 'Grace Hopper')
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const epic = await call<{ id: string }>(ada, 'POST', `/api/projects/${slug}/epics`, { title: 'Offline first' })
  await call(ada, 'POST', `/api/projects/${slug}/epics/${epic.id}/stories`, { title: 'Covers' })
  const blocker = await newTask(ada, slug, { title: 'Encrypt the shelf' })
  while ((await catchUp(systemCtx(t), {})) !== 'done');
  await ada.goto(`/projects/${slug}/tasks`)
  const press = (key: string) => ada.page.keyboard.press(key)
  const type = (text: string) => ada.page.keyboard.type(text)
  await ada.page.getByText('Encrypt the shelf').waitFor()
  await press('c')
  await dialog(ada).waitFor()
  await until(async () => (await ada.focused().getAttribute('aria-label')) === 'Title')
  await type('Encrypt the shelves')
  await dialog(ada)
    .getByText(/^Similar:/)
    .waitFor()
  await dialog(ada).getByRole('link', { name: blocker.key }).waitFor()
  expect(await axe(ada.page)).toEqual([])
  await press('Tab')
  await type('Every cover is requested again.')
  await pastePicture(ada, 'network.png')
  await dialog(ada).getByRole('button', { name: 'Remove network.png' }).waitFor()
  await dialog(ada).getByRole('textbox', { name: 'Add a criterion' }).focus()
  await type('No request for a cover')
  await press('Enter')
  await type('A test counts the requests')
  await press('Enter')
  // Escape leaves the text for the properties, where single keys open them.
  await press('Escape')
  await until(async () => (await ada.focused().getAttribute('data-key')) === 's')
  const choose = async (key: string, entry: string) => {
    await press(key)
    await ada.page.getByRole('menuitem', { name: entry }).waitFor()
    await ada.page.getByRole('menuitem', { name: entry }).press('Enter')
    await ada.page.getByRole('menu').waitFor({ state: 'detached' })
    await until(async () => (await ada.focused().getAttribute('data-key')) === key)
  }
  await choose('p', 'High')
  await choose('a', 'Grace Hopper')
  await choose('s', 'Backlog')
  const fill = async (key: string, name: string, text: string) => {
    await press(key)
    await dialog(ada).getByLabel(name, { exact: true }).fill(text)
    await press('Enter')
    await until(async () => (await ada.focused().getAttribute('data-key')) === key)
  }
  await fill('l', 'Labels', 'offline, covers')
  await fill('d', 'Due', '2030-05-01')
  await fill('E', 'Estimate', '5')
  await press('b')
  const first = ada.page.getByRole('dialog', { name: 'Blockers of this task' })
  await first.getByRole('combobox').fill(blocker.key)
  await first.getByRole('option', { name: /Encrypt the shelf/ }).waitFor()
  await press('Enter')
  await property(ada, `Blocked by: ${blocker.key}`).waitFor()
  // Escape closes the picker, not the dialog.
  await press('Escape')
  await until(async () => (await ada.focused().getAttribute('data-key')) === 'b')
  await property(ada, /Story/).press('Enter')
  const which = ada.page.getByRole('dialog', { name: 'Story of this task' })
  await which.getByRole('combobox').fill('Covers')
  await which.getByRole('option', { name: 'Covers' }).waitFor()
  await press('Enter')
  await property(ada, 'Story: Covers').waitFor()
  await dialog(ada).getByLabel('Create more').press('Space')
  await dialog(ada).getByRole('textbox', { name: 'Title' }).press('Control+Enter')
  await until(async () => (await dialog(ada).getByRole('textbox', { name: 'Title' }).inputValue()) === '')
  const [, made] = await tasksOf(ada, slug)
  const task = await readTask(ada, made?.key ?? '')
  expect(task).toMatchObject({
    title: 'Encrypt the shelves',
    status: 'backlog',
    priority: 'high',
    labels: ['offline', 'covers'],
    estimate: 5,
    blockedBy: [blocker.key],
    acceptance: [
      { text: 'No request for a cover', done: false },
      { text: 'A test counts the requests', done: false },
    ],
  })
  expect([task.assignee?.name, task.story?.title, task.dueAt?.slice(0, 10)]).toEqual([
    'Grace Hopper',
    'Covers',
    '2030-05-01',
  ])
  expect(task.description).toMatch(/^Every cover is requested again\.\n!\[network\.png\]\(\/api\/uploads\/[\w-]+\)\n$/)
  const files = await call<{ items: { name: string }[] }>(ada, 'GET', `/api/uploads?kind=task&recordId=${task.id}`)
  expect(files.items.map(({ name }) => name)).toEqual(['network.png'])
  // The next one has the same properties.
  await type('Trim the fonts')
  await press('Enter')
  await until(async () => (await tasksOf(ada, slug)).length === 3)
  expect((await tasksOf(ada, slug))[2]).toMatchObject({ title: 'Trim the fonts', priority: 'high', estimate: 5 })
  await ada.leave()
}, 300_000)

test('Escape twice closes the dialog of a new task and keeps its draft; a phone shows it as a whole sheet', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email, { viewport: { width: 390, height: 844 } })
  const { slug } = await newProject(ada)
  await newTask(ada, slug, { title: 'One' })
  await ada.goto(`/projects/${slug}/tasks`)
  await ada.page.getByText('One').first().waitFor()
  await ada.page.keyboard.press('c')
  await until(async () => (await ada.focused().getAttribute('aria-label')) === 'Title')
  await ada.page.keyboard.type('Not yet')
  expect(await dialog(ada).boundingBox()).toEqual({ x: 0, y: 0, width: 390, height: 844 })
  expect(await ada.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  expect(await axe(ada.page)).toEqual([])
  await ada.page.keyboard.press('Escape')
  await dialog(ada).waitFor()
  await ada.page.keyboard.press('Escape')
  await dialog(ada).waitFor({ state: 'detached' })
  await ada.page.reload()
  await ada.page.getByText('One').first().waitFor()
  await ada.page.keyboard.press('c')
  await until(async () => (await dialog(ada).getByRole('textbox', { name: 'Title' }).inputValue()) === 'Not yet')
  await ada.page.keyboard.press('Enter')
  await dialog(ada).waitFor({ state: 'detached' })
  expect((await tasksOf(ada, slug)).map(({ title }) => title)).toEqual(['One', 'Not yet'])
  await ada.leave()
}, 300_000)
