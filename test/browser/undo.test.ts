import { expect, test } from 'bun:test'
import type { TaskDetail } from '../../src/features/tasks/schema.ts'
import { person, sharedApp } from '../support/app.ts'
import { axe } from './axe.ts'
import { call, isLive, newProject, newTask, signedIn } from './support.ts'

/** Completing a task and undoing it. */
const t = await sharedApp()

test('a completion lists open criteria and subtasks first, and Ctrl+Z undoes it after a reload', async () => {
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
  await popup.getByText('1 of 1 subtasks is open').waitFor()
  await popup.getByText(part.key).waitFor()
  await popup.getByText(`Completing unblocks ${waiting.key}. You can undo it for an hour.`).waitFor()
  expect(await axe(ada.page)).toEqual([])
  await ada.page.keyboard.press('Escape')
  await popup.waitFor({ state: 'detached' })
  await ada.button('Complete').press('Enter')
  await popup.getByRole('button', { name: 'Tick both and complete' }).press('Enter')
  await ada.see(`${made.key} is done`)
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

test('the message of a completion goes when someone else changes the task', async () => {
  const ada = await signedIn(t, (await person(t)).email)
  const { slug } = await newProject(ada)
  const { key } = await newTask(ada, slug, { title: 'Read offline' })
  await ada.goto(`/tasks/${key}`)
  await isLive(ada)
  await ada.button('Complete').click()
  const message = ada.page.getByText(`${key} is done`)
  // A message stays while the pointer is over it, so only the event can close it.
  await message.hover()
  await call(ada, 'PATCH', `/api/tasks/${key}`, { priority: 'high' })
  await message.waitFor({ state: 'detached' })
  await ada.leave()
}, 300_000)
