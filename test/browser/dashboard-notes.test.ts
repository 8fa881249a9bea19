import { expect, test } from 'bun:test'
import { flavours, textOf as nastyText } from '../contract/nasty-values.ts'
import { member, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { call, evil, expectSound, inEachLook, newProject, signedIn, teamOf, thorough, type Visitor } from './support.ts'

/** Notes and memories in a real browser: writing, two who write at once, and who may do what. */
const t = await sharedApp()

interface Made {
  id: string
  slug: string
  version: number
}
const newNote = (who: Visitor, note: object) => call<Made>(who, 'POST', '/api/notes', note)
const textOf = async (who: Visitor, id: string) =>
  (await call<{ content: string }>(who, 'GET', `/api/notes/${id}`)).content
const field = (who: Visitor) => who.page.getByRole('textbox', { name: 'Text of the note' })
const dialog = (who: Visitor) => who.page.getByRole('dialog')

test('a note is written by keyboard, saved automatically, linked, pinned, published, deleted and restored', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  await newNote(ada, { title: 'Runbook', content: 'Stop, wait, start.' })
  await ada.goto('/notes')
  await ada.page.getByRole('link', { name: 'Runbook' }).waitFor()
  await ada.page.keyboard.press('c')
  await dialog(ada).getByLabel('Title').fill('How we deploy')
  await ada.page.keyboard.press('Enter')
  await field(ada).waitFor()
  const id = new URL(ada.page.url()).pathname.replace('/notes/', '')
  await field(ada).focus()
  await ada.page.keyboard.press('Control+b')
  await ada.page.keyboard.type('first')
  await ada.page.keyboard.press('End')
  await ada.page.keyboard.type('\n- one\ntwo\n\n\nSee [[Runb')
  // What is typed behind [[ is completed from the titles of notes.
  await ada.page.getByRole('option', { name: 'Runbook' }).waitFor()
  await ada.page.keyboard.press('Enter')
  await ada.page.keyboard.press('Control+s')
  await ada.page.getByText('Saved', { exact: true }).waitFor()
  expect(await textOf(ada, id)).toBe('**first**\n- one\n- two\n\nSee [[Runbook]]')
  // Leaving the field saves too.
  await ada.page.keyboard.type('.')
  await ada.button('Done').click()
  await ada.page.locator('.prose strong', { hasText: 'first' }).waitFor()
  await ada.page.getByRole('complementary').getByRole('link', { name: 'Runbook' }).waitFor()
  await ada.page.locator('.prose').getByRole('link', { name: 'Runbook' }).click()
  await ada.page.getByRole('heading', { name: 'Runbook', level: 1 }).waitFor()
  await ada.button('Pin to the top').click()
  await ada.button('Unpin').waitFor()
  await ada.page.getByRole('complementary').getByRole('link', { name: 'How we deploy' }).click()
  await ada.page.getByRole('heading', { name: 'How we deploy', level: 1 }).waitFor()
  expect(await textOf(ada, id)).toEndWith('[[Runbook]].')
  await ada.button('Publish').click()
  await ada.button('Copy the public link').waitFor()
  await ada.button('Delete').click()
  await ada.page.getByRole('link', { name: 'How we deploy' }).waitFor({ state: 'detached' })
  const toast = ada.page.locator('.toast', { hasText: 'Deleted' })
  await toast.getByRole('button', { name: 'Undo' }).click()
  await ada.page.getByRole('link', { name: 'How we deploy' }).waitFor()
  // It was changed later than the pinned one, which stays at the top. The list is shown as it was known until it is read.
  await until(async () => String(await ada.page.locator('.note .ttl').allTextContents()) === 'Runbook,How we deploy')
  // The page may hear of the deletion, and look, before it has left.
  const gone = [`GET /api/notes/${id} 404`, `GET /api/notes/${id}/links 404`]
  await ada.leave(...ada.refused.filter((line) => gone.includes(line)))
}, 300_000)

test('two people who edit a note at once see both texts and lose neither; a change of another field is no conflict', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const content = 'Blocks have one size.\n\nThe last is shorter.\n'
  const { id } = await newNote(ada, { title: 'Block store', content })
  await ada.goto(`/notes/${id}`)
  await ada.page.locator('.prose').waitFor()
  await ada.page.keyboard.press('e')
  await field(ada).fill(content.replace('one size', '256 KB'))
  // Somebody changes another field: the text goes onto the newer version.
  await call(ada, 'PUT', `/api/notes/${id}`, { tags: ['store'] })
  await ada.page.keyboard.press('Control+s')
  await ada.page.getByText('Saved', { exact: true }).waitFor()
  await call(ada, 'PUT', `/api/notes/${id}`, {
    content: content.replace('one size', '256 KB').replace('shorter', 'padded'),
  })
  await field(ada).fill(`${content.replace('one size', '512 KB')}`)
  await ada.page.keyboard.press('Control+s')
  const conflict = ada.page.getByRole('alert', { name: 'Edit conflict' })
  await conflict.locator('.m', { hasText: 'padded' }).waitFor()
  await conflict.locator('.p', { hasText: '512 KB' }).waitFor()
  await ada.button('Merge and edit').click()
  await until(async () => (await field(ada).inputValue()) === 'Blocks have 512 KB.\n\nThe last is padded.\n')
  await field(ada).focus()
  await ada.page.keyboard.press('Control+s')
  await ada.page.getByText('Saved', { exact: true }).waitFor()
  expect(await textOf(ada, id)).toBe('Blocks have 512 KB.\n\nThe last is padded.\n')
  // How often depends on when the page saved by itself.
  expect(new Set(ada.refused)).toEqual(new Set([`PUT /api/notes/${id} 412`]))
  await ada.leave(...ada.refused)
}, 300_000)

test('memories are superseded, expired, and cleared after typing the name of their subject', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const project = await call<Made & { name: string }>(ada, 'POST', '/api/projects', { name: 'Harbour' })
  const memory = { scope: 'project', scopeId: project.id, title: 'Backups', content: 'Backups run at night.' }
  const { id } = await call<Made>(ada, 'POST', '/api/memories', memory)
  await ada.goto('/memories')
  await ada.page.getByRole('link', { name: 'Backups' }).click()
  await ada.button('Supersede…').click()
  await dialog(ada).getByRole('textbox', { name: 'What to remember' }).fill('Backups run before migrations.')
  await dialog(ada).getByRole('button', { name: 'Store' }).click()
  await ada.page.locator('.prose', { hasText: 'before migrations' }).waitFor()
  await ada.page.getByRole('link', { name: 'earlier memory' }).click()
  await ada.page.waitForURL(`**/memories/${id}*`)
  await ada.page.getByText('superseded', { exact: true }).waitFor()
  await ada.goto(`/memories?scope=project&scopeId=${project.id}`)
  await ada.button('Clear…').click()
  await dialog(ada).getByText('2 memories will be deleted', { exact: false }).waitFor()
  await dialog(ada).getByLabel('Type Harbour to confirm').fill('Harbour')
  await dialog(ada).getByRole('button', { name: 'Delete all of them' }).click()
  await ada.see('No memory matches these filters.')
  await ada.leave()
}, 300_000)

thorough(
  'the pages of notes and memories show stored markup as text and pass axe',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const project = await newProject(ada)
    const text = `${evil}\n\n![far away](https://example.com/x.png) [[${evil.slice(0, 30)}]]`
    const note = await newNote(ada, { title: evil, content: text, tags: [evil.slice(0, 40)] })
    const memory = await call<Made>(ada, 'POST', '/api/memories', {
      ...{ scope: 'project', scopeId: project.id, title: evil, content: text, tags: [evil.slice(0, 40)] },
      source: evil,
    })
    await inEachLook(ada, async () => {
      await expectSound(ada, '/notes', 'main .li')
      await expectSound(ada, `/notes/${note.id}`, 'main .prose')
      await expectSound(ada, `/notes/${note.id}?edit=true`, 'main .editor')
      await expectSound(ada, '/memories', 'main .li')
      await expectSound(ada, `/memories/${memory.id}`, 'main .prose')
    })
    await ada.leave()
  },
  300_000,
)

thorough(
  'a viewer sees no control of notes and memories that the server would refuse',
  async () => {
    const boss = await person(t)
    const viewer = await member(t, boss, 'viewer', 'Vera')
    const ada = await signedIn(t, boss.email)
    const { id } = await newNote(ada, { title: 'Read only', content: 'As it is.' })
    const vera = await signedIn(t, viewer.email)
    const team = await teamOf(ada)
    await vera.goto(`/notes/${id}?team=${team}`)
    await vera.page.locator('.prose').waitFor()
    for (const name of ['Edit', 'Publish', 'Delete', 'Pin to the top', 'Edit the title'])
      expect(await vera.page.getByRole('button', { name }).count()).toBe(0)
    await vera.goto(`/notes?team=${team}`)
    await vera.page.getByRole('link', { name: 'Read only' }).waitFor()
    expect(await vera.page.getByRole('button', { name: 'New note' }).count()).toBe(0)
    await ada.context.close()
    await vera.leave()
  },
  300_000,
)

thorough(
  'a note that is slow to parse is shown without freezing the page',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    for (const flavour of flavours.filter(({ name }) => name === 'quotes' || name === 'Markdown')) {
      const { id } = await newNote(ada, { title: `Slow ${flavour.name}`, content: nastyText(flavour, 200_000) })
      await ada.goto(`/notes/${id}`)
      await ada.page.locator('.prose .md').waitFor()
      // It is shown as it was written.
      expect(await ada.page.locator('.prose .md > pre').count()).toBe(1)
    }
  },
  120_000,
)
