import { expect, test } from 'bun:test'
import { person, sharedApp } from '../support/app.ts'
import { axe } from './axe.ts'
import { call, expectSound, inEachLook, newProject, newTask, signedIn, type Visitor } from './support.ts'

/** Lists of tasks in a real browser: groups, order, columns, the filter bar and a selection of all that match. */
const t = await sharedApp()

const head = (who: Visitor, name: string) => who.page.getByRole('button', { name: new RegExp(`^${name} \\d+$`) })
const rows = (who: Visitor) => who.page.getByRole('list', { name: 'Tasks' })
const chips = (who: Visitor) => who.page.getByRole('group', { name: 'Filters' })

/** Presses a key that opens a menu, and chooses an entry by its first letters. */
async function chooseBy(who: Visitor, key: string, entry: string): Promise<void> {
  await who.page.keyboard.press(key)
  await who.page.getByRole('menuitem', { name: entry, exact: true }).waitFor()
  await who.page.keyboard.type(entry.slice(0, 3))
  await who.page.keyboard.press('Enter')
}

test('a list is grouped, sorted, filtered and selected by keyboard, and a reload keeps its query', async () => {
  const ada = await signedIn(t, (await person(t)).email)
  const { id, slug, key } = await newProject(ada)
  const titles = Array.from({ length: 140 }, (_, n) => `Step ${n + 1}`)
  for (let from = 0; from < titles.length; from += 50)
    await call(ada, 'POST', `/api/projects/${slug}/tasks/batch`, {
      tasks: titles.slice(from, from + 50).map((title) => ({ title, labels: title === 'Step 7' ? ['docs'] : ['web'] })),
    })
  await call(ada, 'PATCH', `/api/tasks/${key}-3`, { priority: 'critical' })
  await call(ada, 'POST', `/api/tasks/${key}-1/complete`, {})
  await ada.goto(`/projects/${slug}/tasks?view=list`)
  await head(ada, 'Todo').waitFor()
  expect(await head(ada, 'Todo').textContent()).toBe('Todo139')
  await ada.see('139 ready to start')
  // Done is below what is on screen: it comes up when Todo is folded, and is folded itself.
  await head(ada, 'Todo').press('Enter')
  expect(await head(ada, 'Done').getAttribute('aria-expanded')).toBe('false')
  await head(ada, 'Done').press('Enter')
  await rows(ada).getByText('Step 1', { exact: true }).waitFor()
  await head(ada, 'Done').press('Enter')
  await rows(ada).getByText('Step 1', { exact: true }).waitFor({ state: 'detached' })
  await head(ada, 'Todo').press('Enter')

  await chooseBy(ada, 'Shift+G', 'Priority')
  await ada.page.waitForURL(/group=priority/)
  await head(ada, 'Critical').waitFor()
  await chooseBy(ada, 'Shift+S', 'Last updated')
  await ada.page.waitForURL(/sort=updatedAt/)
  await ada.page.keyboard.press('f')
  const field = ada.page.getByRole('combobox')
  await field.waitFor()
  await ada.page.keyboard.type('!doc')
  await ada.page.getByRole('option', { name: 'docs 1' }).waitFor()
  expect(await axe(ada.page)).toEqual([])
  await ada.page.keyboard.press('Control+Enter')
  await ada.page.waitForURL(/label=(!|%21)docs/)
  // The field stays for the next one; Tab switches to "is not".
  expect(await field.inputValue()).toBe('')
  await ada.page.keyboard.press('Tab')
  await ada.page.keyboard.type('done')
  await ada.page.keyboard.press('Enter')
  await field.waitFor({ state: 'detached' })
  await chips(ada).getByText('139 of 140').waitFor({ state: 'detached' })
  await chips(ada).getByText('138 of 140').waitFor()
  const address = ada.page.url()
  await ada.page.reload()
  await chips(ada).getByText('138 of 140').waitFor()
  expect(ada.page.url()).toBe(address)
  expect(await chips(ada).locator('.chip').allTextContents()).toEqual(['stateis notDone', 'labelis notdocs'])
  expect(await rows(ada).getByText('Step 7', { exact: true }).count()).toBe(0)

  await head(ada, 'Medium').waitFor()
  await ada.page.keyboard.press('j')
  await ada.page.keyboard.press('Control+a')
  const link = ada.button('Select all 138')
  await link.waitFor()
  await ada.page.keyboard.press('Control+a')
  await ada.page.getByRole('toolbar', { name: '138 selected' }).waitFor()
  await link.waitFor({ state: 'detached' })
  await ada.see(/^Live$/)
  ada.asked.splice(0)
  await ada.page.keyboard.press('i')
  await ada.see(/138 tasks: assigned to/)
  // Events report the progress: the page asks at the start and at the end.
  expect(ada.asked.filter(({ pathname }) => pathname.startsWith('/api/changes/')).length).toBeLessThanOrEqual(2)
  const mine = `/api/tasks?projectId=${id}&assignee=me&total=true&limit=1`
  expect((await call<{ total: number }>(ada, 'GET', mine)).total).toBe(138)
  await ada.page.keyboard.press('Escape')
  await ada.page.getByRole('toolbar').waitFor({ state: 'detached' })
  await ada.leave()
}, 300_000)

test('the page of all projects groups by project and hides columns; old addresses of lists still work', async () => {
  const ada = await signedIn(t, (await person(t)).email)
  const [one, two] = [await newProject(ada), await newProject(ada)]
  await newTask(ada, one.slug, { title: 'Rope', assignee: 'me', labels: ['deck'] })
  await newTask(ada, two.slug, { title: 'Sail', assignee: 'me', priority: 'high' })
  await newTask(ada, two.slug, { title: 'Mast' })
  await inEachLook(ada, async () => {
    await expectSound(ada, '/tasks?assignee=me&group=project', 'main .grp')
    await expectSound(ada, `/projects/${one.slug}/tasks?view=list&label=!x&group=label`, 'main .grp')
  })
  await ada.goto('/tasks?assignee=me')
  await ada.page.getByRole('heading', { name: 'My tasks', level: 1 }).waitFor({ state: 'attached' })
  await head(ada, 'Todo').waitFor()
  await chooseBy(ada, 'Shift+G', 'Project')
  await ada.page.waitForURL(/group=project/)
  await rows(ada).getByText('Rope').waitFor()
  await rows(ada).getByText('Sail').waitFor()
  expect(await rows(ada).getByText('Mast').count()).toBe(0)
  await rows(ada).getByText('deck').waitFor()
  await ada.button('Display').click()
  await ada.page.getByRole('menuitem', { name: 'Labels' }).click()
  await ada.page.getByRole('menuitem', { name: 'Last updated' }).click()
  await ada.page.waitForURL(/show=dependencies/)
  await ada.page.keyboard.press('Escape')
  await rows(ada).getByText('deck').waitFor({ state: 'detached' })
  await ada.page.reload()
  await rows(ada).getByText('Rope').waitFor()
  expect(await rows(ada).getByText('deck').count()).toBe(0)

  await ada.goto(`/projects/${two.slug}/tasks?view=list&status=todo&priority=high&sort=updatedAt`)
  await rows(ada).getByText('Sail').waitFor()
  await chips(ada).getByText('1 of 2').waitFor()
  await ada.page.getByRole('button', { name: 'priority is, switch' }).click()
  await ada.page.waitForURL(/priority=(!|%21)high/)
  await rows(ada).getByText('Mast').waitFor()
  await ada.button('Clear').click()
  await rows(ada).getByText('Sail').waitFor()
  await ada.leave()
}, 300_000)
