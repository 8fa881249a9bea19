import { expect, test } from 'bun:test'
import type { TaskDetail } from '../../src/features/tasks/schema.ts'
import { member, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import { pastePicture, pasteText } from './paste.ts'
import { call, newProject, newTask, signedIn, type Visitor } from './support.ts'

/** The editor of all texts, by keyboard: descriptions and comments of tasks. */
const t = await sharedApp()

const read = (who: Visitor, key: string) => call<TaskDetail>(who, 'GET', `/api/tasks/${key}`)
const field = (who: Visitor, name: string) => who.page.getByRole('textbox', { name })

test('a description is written by keyboard with a link, a task and a pasted picture; only Ctrl+Enter saves it', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Covers are fetched again' })
  const other = await newTask(ada, slug, { title: 'Encrypt the shelf' })
  await ada.goto(`/tasks/${task.key}`)
  await ada.page.getByRole('heading', { name: 'Covers are fetched again' }).waitFor()
  await ada.page.keyboard.press('e')
  const text = field(ada, 'Description')
  await text.waitFor()
  await ada.page.keyboard.type('See trace')
  await ada.page.keyboard.press('Shift+Control+ArrowLeft')
  await pasteText(ada, 'https://example.com/trace')
  await ada.page.keyboard.press('End')
  await ada.page.keyboard.type(` and #${other.key}`)
  await ada.page.getByRole('option', { name: /Encrypt the shelf/ }).waitFor()
  expect(await axe(ada.page)).toEqual([])
  await ada.page.keyboard.press('Enter')
  await pastePicture(ada, 'network.png')
  const shown = /!\[network\.png\]\(\/api\/uploads\/[0-9a-f-]{36}\)/
  await until(async () => shown.test(await text.inputValue()))
  // Leaving the field saves nothing; the draft is there after a reload.
  await ada.page.keyboard.press('Shift+Tab')
  await ada.see('Draft saved on this device')
  expect((await read(ada, task.key)).description).toBeNull()
  await ada.page.reload()
  await text.waitFor()
  expect(await text.inputValue()).toMatch(shown)
  await ada.page.keyboard.press('Control+Enter')
  await text.waitFor({ state: 'detached' })
  const link = `[${other.key}](/tasks/${other.key})`
  expect((await read(ada, task.key)).description).toStartWith(`See [trace](https://example.com/trace) and ${link} \n![`)
  await ada.page.locator('.md img').waitFor()
  await ada.page.getByRole('list', { name: 'Files' }).getByText('network.png').waitFor()
  expect(await ada.page.evaluate('Object.keys(localStorage).filter((key) => key.startsWith("draft:"))')).toEqual([])
  await ada.leave()
}, 300_000)

test('a file that failed is uploaded again or removed', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Covers' })
  await ada.goto(`/tasks/${task.key}`)
  await field(ada, 'Write a comment').focus()
  await ada.page.route('**/api/uploads?*', (route) => route.fulfill({ status: 503, json: { detail: 'Later.' } }), {
    times: 2,
  })
  await pastePicture(ada, 'network.png')
  await pastePicture(ada, 'second.png')
  await ada.page.getByRole('alert').filter({ hasText: 'Later.' }).nth(1).waitFor()
  await ada.button('Upload network.png again').press('Enter')
  await until(async () => (await field(ada, 'Write a comment').inputValue()).startsWith('![network.png]'))
  await ada.button('Remove second.png').press('Enter')
  await ada.page.getByRole('alert').waitFor({ state: 'detached' })
  await ada.leave('POST /api/uploads 503', 'POST /api/uploads 503')
}, 300_000)

test('a comment mentions someone, who is notified; its draft survives a reload', async () => {
  const boss = await person(t)
  const grace = await member(t, boss, 'member', 'Grace Hopper')
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Read offline' })
  await ada.goto(`/tasks/${task.key}`)
  const text = field(ada, 'Write a comment')
  await text.focus()
  await ada.page.keyboard.type('Ready, @Gra')
  await ada.page.getByRole('option', { name: /Grace Hopper/ }).waitFor()
  await ada.page.keyboard.press('Enter')
  await ada.page.keyboard.type('look')
  await ada.page.reload()
  await text.waitFor()
  expect(await text.inputValue()).toMatch(/^Ready, @[\w-]+ look$/)
  await text.focus()
  await ada.page.keyboard.press('Control+Enter')
  await until(async () => (await text.inputValue()) === '')
  expect((await read(ada, task.key)).comments.map(({ body }) => body)).toEqual([
    expect.stringMatching(/^Ready, @[\w-]+ look$/),
  ])
  const { body } = await grace.fetch<{ items: { reason: string }[] }>('GET', '/api/notifications')
  expect(body.items.map(({ reason }) => reason)).toContain('mention')
  await ada.leave()
}, 300_000)

test('two windows that edit a description are merged by lines, or ask which text to keep', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const description = 'One\n\nTwo\n\nThree\n\nFour\n'
  const task = await newTask(ada, slug, { title: 'Block store', description })
  const theirs = (change: string) => call(ada, 'PATCH', `/api/tasks/${task.key}`, { description: change })
  await ada.goto(`/tasks/${task.key}`)
  await ada.page.getByRole('heading', { name: 'Block store' }).waitFor()
  const text = field(ada, 'Description')
  await ada.page.keyboard.press('e')
  await text.fill(description.replace('One', 'First'))
  await theirs(description.replace('Four', 'Last'))
  await text.press('Control+Enter')
  await ada.see('Saved together with a change of someone else')
  expect((await read(ada, task.key)).description).toBe('First\n\nTwo\n\nThree\n\nLast\n')

  await ada.page.keyboard.press('e')
  await text.fill('Mine\n')
  await theirs('Theirs\n')
  await text.press('Control+Enter')
  const conflict = ada.page.getByRole('alert', { name: 'Edit conflict' })
  await conflict.locator('.m', { hasText: 'Theirs' }).waitFor()
  await conflict.locator('.p', { hasText: 'Mine' }).waitFor()
  await conflict.getByRole('button', { name: 'Keep mine' }).press('Enter')
  await conflict.waitFor({ state: 'detached' })
  await until(async () => (await read(ada, task.key)).description === 'Mine\n')
  const refused = `PATCH /api/tasks/${task.id} 412`
  await ada.leave(refused, refused)
}, 300_000)
