import { expect, test } from 'bun:test'
import type { TaskDetail } from '../../src/features/tasks/schema.ts'
import { member, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import { call, isLive, newProject, newTask, signedIn } from './support.ts'

/** Completing a task and undoing it. */
const t = await sharedApp()

test('a completion lists open criteria and sub-tasks first, and Ctrl+Z undoes it after a reload', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const made = await newTask(ada, slug, { title: 'Read offline', acceptance: ['It opens', 'It is fast'] })
  const part = await newTask(ada, slug, { title: 'Cache pages', parentId: made.id })
  const waiting = await newTask(ada, slug, { title: 'Announce it', blockedBy: [made.key] })
  await call(ada, 'PATCH', `/api/tasks/${waiting.key}`, { status: 'blocked' })
  const read = (key: string) => call<TaskDetail>(ada, 'GET', `/api/tasks/${key}`)

  await ada.goto(`/tasks/${made.key}`)
  await ada.button('Complete').press('Enter')
  const popup = ada.page.getByRole('dialog', { name: `Complete ${made.key}` })
  await popup.getByText('2 of 2 criteria are open').waitFor()
  await popup.getByText('1 of 1 sub-tasks is open').waitFor()
  await popup.getByText(part.key).waitFor()
  await popup.getByText(`Completing unblocks ${waiting.key}. You can undo it for an hour.`).waitFor()
  expect(await axe(ada.page)).toEqual([])
  await ada.page.keyboard.press('Escape')
  await popup.waitFor({ state: 'detached' })
  await ada.button('Complete').press('Enter')
  await popup.getByRole('button', { name: 'Tick both and complete' }).press('Enter')
  await ada.see(`${made.key} completed`)
  expect(await read(made.key)).toMatchObject({ status: 'done', acceptance: [{ done: true }, { done: true }] })
  expect(await read(waiting.key)).toMatchObject({ status: 'todo' })

  await ada.page.reload()
  await ada.page.getByRole('heading', { name: 'Read offline' }).waitFor()
  await ada.page.keyboard.press('Control+z')
  await ada.see(`Undone: ${made.key}: state Done`)
  expect(await read(made.key)).toMatchObject({ status: 'todo', acceptance: [{ done: false }, { done: false }] })
  expect(await read(waiting.key)).toMatchObject({ status: 'blocked' })
  await ada.button('Complete').waitFor()
  await ada.leave()
}, 300_000)

test('Shift+C completes the task with the focus on a list and a board, or the one that is open', async () => {
  const boss = await person(t)
  const ben = await member(t, boss, 'member')
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const [plain, held, unmet] = [
    await newTask(ada, slug, { title: 'Cache pages' }),
    await newTask(ada, slug, { title: 'Read offline' }),
    await newTask(ada, slug, { title: 'Announce it', acceptance: ['It opens'] }),
  ]
  const blocked = await newTask(ada, slug, { title: 'Sell it', blockedBy: [unmet.key] })
  expect((await ben.fetch('POST', `/api/tasks/${held.key}/claim`, {})).status).toBe(200)
  const statusOf = async (key: string) => (await call<TaskDetail>(ada, 'GET', `/api/tasks/${key}`)).status
  const popup = (key: string) => ada.page.getByRole('dialog', { name: `Complete ${key}` })
  const task = ({ id }: { id: string }) => ada.page.locator(`[data-task="${id}"]`)
  const { keyboard } = ada.page

  await ada.goto(`/projects/${slug}/tasks?view=list&group=none`)
  await task(plain).focus()
  await keyboard.press('Shift+C')
  await ada.see(`${plain.key} completed`)
  expect(await statusOf(plain.key)).toBe('done')
  await keyboard.press('Control+z')
  await ada.see(`Undone: ${plain.key} completed`)
  expect(await statusOf(plain.key)).toBe('todo')
  await task(blocked).focus()
  await keyboard.press('Shift+C')
  await ada.see(`${blocked.key} was not completed`)

  // Another worker holds it, so that the reader is asked first.
  await ada.goto(`/projects/${slug}/tasks`)
  await task(held).focus()
  await keyboard.press('Shift+C')
  await popup(held.key)
    .getByText(/has held it for/)
    .waitFor()
  await popup(held.key)
    .getByText(/ends the claim of/)
    .waitFor()
  expect(await axe(ada.page)).toEqual([])
  await keyboard.press('Escape')
  await popup(held.key).waitFor({ state: 'detached' })
  await until(() => ada.page.evaluate<boolean>(`document.activeElement.dataset.task === '${held.id}'`))
  await keyboard.press('Shift+C')
  await popup(held.key).getByRole('button', { name: 'Complete anyway' }).waitFor()
  await keyboard.press('Enter')
  await ada.see(`${held.key} completed`)
  expect(await statusOf(held.key)).toBe('done')

  for (const path of [`/projects/${slug}/tasks?open=${unmet.key}`, `/tasks/${unmet.key}`]) {
    await ada.goto(path)
    await ada.button('Complete').waitFor()
    await keyboard.press('Shift+C')
    await popup(unmet.key).getByText('1 of 1 criteria is open').waitFor()
    await keyboard.press('Escape')
    await popup(unmet.key).waitFor({ state: 'detached' })
  }
  await keyboard.press('?')
  await ada.page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Complete', { exact: true }).waitFor()
  await ada.leave()
}, 300_000)

test('the message of a completion goes when someone else changes the task', async () => {
  const ada = await signedIn(t, (await person(t)).email)
  const { slug } = await newProject(ada)
  const { key } = await newTask(ada, slug, { title: 'Read offline' })
  await ada.goto(`/tasks/${key}`)
  await isLive(ada)
  await ada.button('Complete').click()
  const message = ada.page.getByText(`${key} completed`)
  // A message stays while the pointer is over it, so only the event can close it.
  await message.hover()
  await call(ada, 'PATCH', `/api/tasks/${key}`, { priority: 'high' })
  await message.waitFor({ state: 'detached' })
  await ada.leave()
}, 300_000)
