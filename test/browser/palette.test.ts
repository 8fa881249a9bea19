import { expect, test } from 'bun:test'
import { catchUp } from '../../src/features/search/indexing/indexing.ts'
import { person, sharedApp, systemCtx, unique } from '../support/app.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import { call, inEachLook, newProject, newTask, signedIn, type Visitor } from './support.ts'

/** The palette: filters in the query, records by label and comment, and actions on the selection. */
const t = await sharedApp()
const indexAll = async () => {
  while ((await catchUp(systemCtx(t), {})) !== 'done');
}

const paletteOf = ({ page }: Visitor) => page.getByRole('dialog', { name: 'Search or jump' })

test('the palette finds tasks by label, comment and filters, which it shows as chips', async () => {
  const name = unique('Ada')
  const boss = await person(t, { name })
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const label = unique('offline').replace(/\W/g, '')
  const open = await newTask(ada, slug, { title: 'Resume downloads', labels: [label], assignee: 'me' })
  const other = await newTask(ada, slug, { title: 'Keep the shelf', labels: [label] })
  const discussed = await newTask(ada, slug, { title: 'Paint the door' })
  await call(ada, 'POST', `/api/tasks/${discussed.key}/comments`, { body: `Blue, like the ${label} icon` })
  await indexAll()
  await inEachLook(ada, async () => {
    await ada.goto('/')
    await ada.page.getByRole('heading', { level: 1 }).waitFor()
    await ada.page.keyboard.press('Control+k')
    const palette = paletteOf(ada)
    const option = (title: string) => palette.getByRole('option', { name: title })
    await palette.getByRole('combobox').fill(label)
    for (const title of ['Resume downloads', 'Keep the shelf', 'Paint the door']) await option(title).waitFor()
    await palette.getByText(`like the ${label} icon`).waitFor()
    await palette.getByRole('combobox').fill(`label:${label} is:open @${name.toLowerCase()}`)
    const filters = palette.getByRole('group', { name: 'Filters' })
    await filters.getByText(name).waitFor()
    await option('Keep the shelf').waitFor({ state: 'detached' })
    expect(await palette.getByRole('group', { name: 'Tasks' }).getByRole('option').allTextContents()).toEqual([
      expect.stringContaining(`${open.key} Resume downloads`),
    ])
    expect(await axe(ada.page)).toEqual([])
    // From the field to the third filter, and out of the query with it.
    for (const _ of [1, 2, 3]) await ada.page.keyboard.press('Tab')
    await ada.page.keyboard.press('Enter')
    await option('Keep the shelf').waitFor()
    expect(await palette.getByRole('combobox').inputValue()).toBe(`label:${label} is:open`)
    await palette.locator('input:focus').waitFor()
    await palette.getByRole('combobox').fill(`label:${label} is:open shelf`)
    await option('Resume downloads').waitFor({ state: 'detached' })
    await ada.page.keyboard.press('Enter')
    await ada.page.waitForURL(`**/tasks/${other.key}`)
  })
  await ada.goto(`/search?q=${encodeURIComponent(`label:${label} -is:mine`)}`)
  await ada.page.locator('main').getByText('Keep the shelf').waitFor()
  expect(await ada.page.locator('main').getByText('Resume downloads').count()).toBe(0)
  await ada.button('Remove -is:mine').click()
  await ada.page.locator('main').getByText('Resume downloads').waitFor()
  await ada.leave()
}, 300_000)

test('the palette begins with actions on the selected tasks, by keyboard', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const made = [await newTask(ada, slug, { title: 'One' }), await newTask(ada, slug, { title: 'Two' })]
  await ada.goto(`/projects/${slug}/tasks?view=list`)
  await ada.see('Two')
  const palette = paletteOf(ada)
  const first = palette.getByRole('option').first()
  await ada.page.keyboard.press('j')
  await ada.page.keyboard.press('x')
  await ada.page.keyboard.press('j')
  await ada.page.keyboard.press('x')
  await ada.page.getByRole('toolbar', { name: '2 selected' }).waitFor()
  await ada.page.keyboard.press('Control+k')
  await palette.getByRole('group', { name: 'On 2 tasks' }).waitFor()
  await palette.getByRole('button', { name: 'Not on 2 tasks' }).click()
  await palette.getByRole('group', { name: 'On 2 tasks' }).waitFor({ state: 'detached' })
  await ada.page.keyboard.press('Escape')
  await ada.page.keyboard.press('Control+k')
  expect(await axe(ada.page)).toEqual([])
  await palette.locator('input:focus').waitFor()
  await ada.page.keyboard.type('assign to m')
  await first.getByText('Assign to me').waitFor()
  await ada.page.keyboard.press('Enter')
  await palette.waitFor({ state: 'detached' })
  const assignees = async () =>
    Promise.all(
      made.map(
        async ({ key }) =>
          (await call<{ assignee: { id: string } | null }>(ada, 'GET', `/api/tasks/${key}`)).assignee?.id,
      ),
    )
  await until(async () => (await assignees()).every((id) => id === boss.userId))
  await ada.leave()
}, 300_000)
