import { expect, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { member, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import {
  call,
  evil,
  expectSound,
  inEachLook,
  type Made,
  newProject,
  newTask,
  signedIn,
  teamOf,
  type Visitor,
} from './support.ts'

/** The tasks of a project in a real browser: filters, saved views, selection, long columns, the graph, conflicts. */
const t = await sharedApp()

interface Task extends Made {
  status: string
  priority: string
  title: string
  labels: string[]
}
const read = (who: Visitor, key: string) => call<Task>(who, 'GET', `/api/tasks/${key}`)
const column = (who: Visitor, name: string) => who.page.getByRole('region', { name: new RegExp(`^${name},`) })
const card = (who: Visitor, key: string) => who.page.getByRole('link', { name: new RegExp(`^${key} `) })
const dialog = (who: Visitor, name: string | RegExp) => who.page.getByRole('dialog', { name })

/** Turns the wheel over a list until the element is in the page. */
async function scrolledTo(list: Locator, wanted: Locator): Promise<void> {
  await list.hover()
  for (let turns = 0; (await wanted.count()) === 0; turns++) {
    if (turns > 300) throw new Error(`not in the list: ${wanted}`)
    await list.page().mouse.wheel(0, 3000)
    await list.page().evaluate('new Promise(requestAnimationFrame)')
  }
}

const boxOf = async (what: Locator) => {
  const box = await what.boundingBox()
  if (!box) throw new Error(`not shown: ${what}`)
  return box
}

async function manyTasks(who: Visitor, slug: string, n: number): Promise<void> {
  for (let from = 1; from <= n; from += 50) {
    const tasks = Array.from({ length: Math.min(50, n - from + 1) }, (_, place) => ({ title: `Step ${from + place}` }))
    await call(who, 'POST', `/api/projects/${slug}/tasks/batch`, { tasks })
  }
}

test('a long column loads more; a batch change of 105 tasks whose second call is lost is reported and undone', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { id, slug, key } = await newProject(ada)
  await manyTasks(ada, slug, 105)
  await ada.goto(`/projects/${slug}/tasks`)
  const todo = column(ada, 'Todo')
  await card(ada, `${key}-1`).waitFor()
  const cards = todo.locator('[data-task]')
  expect(await cards.count()).toBeLessThanOrEqual(40)
  await scrolledTo(todo.getByRole('list'), card(ada, `${key}-105`))
  expect(await cards.count()).toBeLessThanOrEqual(40)
  // Another's change reloads what is shown, and the reader stays where they are.
  await call(ada, 'PATCH', `/api/tasks/${key}-104`, { title: 'Changed meanwhile' })
  await todo.getByText('Changed meanwhile').waitFor()
  await card(ada, `${key}-105`).waitFor()

  await ada.goto(`/projects/${slug}/tasks?view=list&group=none&sort=number`)
  const rows = ada.page.getByRole('list', { name: 'Tasks' })
  await rows.locator('[data-task]').first().waitFor()
  const first = rows.getByRole('link', { name: new RegExp(`${key}-1 `) })
  await scrolledTo(rows, first)
  await first.focus()
  await ada.page.keyboard.press('Control+a')
  await ada.page.getByRole('toolbar', { name: '105 selected' }).waitFor()
  let calls = 0
  await ada.page.route('**/api/tasks/batch', (route) =>
    ++calls === 1 ? route.continue() : route.fulfill({ status: 503, json: { detail: 'The server stops.' } }),
  )
  await ada.page.keyboard.press('p')
  await dialog(ada, 'Priority of 105 tasks').getByRole('option', { name: 'Critical' }).click()
  await ada.see('100 tasks changed, 5 tasks may not have been changed')
  await ada.see('The server stops.')
  const counted = async () => {
    const { counts } = await call<{ counts: { value: string; n: number }[] }>(
      ada,
      'GET',
      `/api/tasks/counts?by=priority&projectId=${id}`,
    )
    return Object.fromEntries(counts.map(({ value, n }) => [value, n]))
  }
  expect(await counted()).toEqual({ critical: 100, medium: 5 })
  // What was lost was asked for twice, with one key.
  expect(calls).toBe(3)
  await ada.page.unroute('**/api/tasks/batch')
  await ada.button('Undo').click()
  await ada.see('Undone: 100 tasks: priority Critical')
  expect(await counted()).toEqual({ medium: 105 })

  // What others add waits behind a pill, what one adds is there at once, and nothing else moves.
  await ada.goto(`/projects/${slug}/tasks?view=list&group=none&status=todo`)
  const top = rows.getByRole('listitem').first()
  await top.waitFor()
  await ada.see('Live')
  const before = await top.textContent()
  await newTask(ada, slug, { title: 'From somebody else' })
  const pill = ada.button('Show 1 new task')
  await pill.waitFor()
  expect(await top.textContent()).toBe(before)
  await ada.page.keyboard.press('c')
  await dialog(ada, /^New task/)
    .getByRole('textbox', { name: 'Title' })
    .fill('My own')
  await ada.page.keyboard.press('Enter')
  await rows.getByText('My own').waitFor()
  expect(await rows.getByText('From somebody else').count()).toBe(0)
  await pill.click()
  await rows.getByText('From somebody else').waitFor()
  await pill.waitFor({ state: 'detached' })
  await ada.leave('POST /api/tasks/batch 503', 'POST /api/tasks/batch 503')
}, 300_000)

test('filters are in chips and in the address, a saved view stores them; a selection is changed by keyboard and undone', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug, key } = await newProject(ada)
  for (const title of ['Rope', 'Sail', 'Mast', 'Keel']) await newTask(ada, slug, { title })
  await call(ada, 'PATCH', `/api/tasks/${key}-4`, { priority: 'high', labels: ['wood'], assignee: 'me' })
  await ada.goto(`/projects/${slug}/tasks`)
  await card(ada, `${key}-1`).focus()
  await ada.page.keyboard.press('x')
  await ada.page.keyboard.press('Shift+ArrowDown')
  await ada.page.getByRole('toolbar', { name: '2 selected' }).waitFor()
  expect(await axe(ada.page)).toEqual([])
  await ada.page.keyboard.press('l')
  await ada.page.keyboard.type('rigging')
  await ada.page.keyboard.press('Enter')
  await ada.page.keyboard.press('Escape')
  await ada.see('2 tasks: label rigging added')
  expect((await read(ada, `${key}-2`)).labels).toEqual(['rigging'])
  await ada.page.keyboard.press('s')
  await dialog(ada, 'State of 2 tasks').getByRole('option', { name: 'In progress' }).click()
  await column(ada, 'In progress').getByText('Sail').waitFor()
  // Two changes of the same tasks are undone one after the other.
  await ada.page.keyboard.press('Control+z')
  await until(async () => (await read(ada, `${key}-2`)).status === 'todo')
  expect((await read(ada, `${key}-2`)).labels).toEqual(['rigging'])
  await ada.see('Undone: 2 tasks: state In progress')
  await ada.page.keyboard.press('Control+z')
  await until(async () => (await read(ada, `${key}-2`)).labels.length === 0)
  expect((await read(ada, `${key}-2`)).status).toBe('todo')
  await ada.page.keyboard.press('Escape')

  await ada.page.keyboard.press('f')
  const filters = dialog(ada, 'Filter')
  await filters.getByRole('option', { name: 'High' }).click()
  await ada.page.waitForURL(/priority=high/)
  await ada.page.keyboard.press('f')
  await filters.getByRole('option', { name: 'wood 1' }).waitFor()
  expect(await axe(ada.page)).toEqual([])
  await ada.page.keyboard.type('wood')
  await ada.page.keyboard.press('Enter')
  await ada.page.waitForURL(/priority=high&label=wood/)
  await ada.see('1 of 4')
  await card(ada, `${key}-1`).waitFor({ state: 'detached' })
  await ada.button('Views').click()
  const views = dialog(ada, 'Saved views')
  await views.getByLabel('Name').fill(`Timber ${evil.slice(0, 40)}`)
  await views.getByRole('button', { name: 'Save view' }).click()
  await views.getByRole('link', { name: /^Timber/ }).waitFor()
  await ada.page.keyboard.press('Escape')
  await ada.page.getByRole('button', { name: 'Remove the filter label wood' }).click()
  await ada.page.waitForURL((url) => !url.search.includes('label'))
  await ada.button('Clear').click()
  await card(ada, `${key}-1`).waitFor()
  await ada.button('Views').click()
  await views.getByRole('link', { name: /^Timber/ }).click()
  await ada.page.waitForURL(/label=wood/)
  await card(ada, `${key}-4`).waitFor()
  // Nothing matches: the way out is there.
  await ada.page.keyboard.press('f')
  await filters.getByRole('combobox').fill('nothing like it')
  await ada.page.keyboard.press('Enter')
  await ada.button('Clear filters').click()
  await card(ada, `${key}-1`).waitFor()
  await ada.leave()
}, 300_000)

test('a card dragged near an edge scrolls its column and the board; evidence is added and verified', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email, { viewport: { width: 900, height: 600 } })
  const { slug, key } = await newProject(ada)
  await manyTasks(ada, slug, 30)
  await ada.goto(`/projects/${slug}/tasks`)
  await card(ada, `${key}-1`).waitFor()
  const todo = column(ada, 'Todo').getByRole('list')
  const strip = ada.page.locator('.board')
  const scrolled = (list: Locator, side: 'scrollTop' | 'scrollLeft') =>
    list.evaluate((element, name) => (element as unknown as Record<string, number>)[name] ?? 0, side)
  const start = await boxOf(card(ada, `${key}-2`))
  const { mouse } = ada.page
  await mouse.move(start.x + 30, start.y + 30)
  await mouse.down()
  await mouse.move(start.x + 40, start.y + 60, { steps: 4 })
  const area = await boxOf(todo)
  while ((await scrolled(todo, 'scrollTop')) < 200) {
    await mouse.move(area.x + 60, area.y + area.height - 6)
    await mouse.move(area.x + 64, area.y + area.height - 8)
  }
  const board = await boxOf(strip)
  while ((await scrolled(strip, 'scrollLeft')) < 100) {
    await mouse.move(board.x + board.width - 6, area.y + 80)
    await mouse.move(board.x + board.width - 8, area.y + 84)
  }
  await mouse.up()

  await ada.goto(`/tasks/${key}-3`)
  const field = ada.page.getByLabel(/^Add evidence/)
  await field.fill(evil)
  await ada.page.keyboard.press('Enter')
  const evidence = ada.page.getByRole('region', { name: 'Evidence' })
  await evidence.getByText(evil).waitFor()
  await evidence.getByText('reported').waitFor()
  await evidence.getByRole('button', { name: /^Verify/ }).click()
  await evidence.getByText('verified').waitFor()
  // The page of a task has the keys of a list.
  await ada.page.locator('h1').click()
  await ada.page.keyboard.press('Escape')
  await ada.page.keyboard.press('p')
  await ada.page.getByRole('option', { name: 'Critical' }).click()
  await ada.page.getByRole('button', { name: 'Priority: Critical' }).waitFor()
  await ada.leave()
}, 300_000)

test('a card moves by pointer and by the m key; an edit conflict is shown; the panel opens as a page', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Rope' })
  const other = await newTask(ada, slug, { title: 'Sail' })
  await ada.goto(`/projects/${slug}/tasks`)
  await card(ada, other.key).dragTo(column(ada, 'In progress').getByRole('list'))
  await column(ada, 'In progress').getByText('Sail').waitFor()
  await card(ada, task.key).focus()
  await ada.page.keyboard.press('m')
  await ada.see(`Move ${task.key}`)
  await ada.page.keyboard.press('ArrowRight')
  await column(ada, 'In progress').getByText('Rope').waitFor()
  await ada.page.keyboard.press('Enter')
  await ada.page.keyboard.press('Enter')
  const panel = ada.page.getByRole('region', { name: task.key, exact: true })
  await panel.getByRole('button', { name: 'Rope' }).click()
  // A move that is still on its way would be taken for the change of the title.
  await until(async () => (await read(ada, task.key)).status === 'in_progress')
  // The other change comes after the page has sent its own, and before the server has read it.
  const theirs = (patch: object) =>
    ada.page.route(
      `**/api/tasks/${task.id}`,
      async (route) => {
        await call(ada, 'PATCH', `/api/tasks/${task.key}`, patch)
        await route.continue()
      },
      { times: 1 },
    )
  await theirs({ title: 'Rope of hemp' })
  await panel.getByLabel('Edit the title').fill('Rope of steel')
  await ada.page.keyboard.press('Enter')
  const met = panel.getByRole('alert', { name: 'Edit conflict' })
  await met.getByText('Rope of hemp').waitFor()
  await met.getByText('Rope of steel').waitFor()
  await met.getByRole('button', { name: 'Keep mine' }).click()
  await panel.getByRole('button', { name: 'Rope of steel' }).waitFor()
  // Of another field: both changes are kept, and nobody is asked.
  await theirs({ labels: ['rigging'] })
  await panel.getByRole('button', { name: 'Due: not set' }).click()
  await ada.page.keyboard.type('2030-05-01')
  await ada.page.keyboard.press('Enter')
  await panel.getByText('rigging').waitFor()
  expect(await read(ada, task.key)).toMatchObject({ title: 'Rope of steel', labels: ['rigging'] })

  await panel.getByRole('button', { name: 'Add a task (Related)' }).click()
  await dialog(ada, `Relate to ${task.key}`).getByRole('combobox').fill(other.key)
  await dialog(ada, /^Relate to/)
    .getByRole('option', { name: /Sail/ })
    .click()
  await panel.getByRole('link', { name: /Sail/ }).waitFor()
  await panel.getByRole('link', { name: 'Open as a page' }).click()
  await ada.page.waitForURL(`**/tasks/${task.key}`)
  await ada.page.getByRole('heading', { name: 'Rope of steel', level: 1 }).waitFor()
  await ada.page.getByText('History').click()
  await ada.see(/changed due date of/)
  await ada.see(/moved .* from todo to in progress/)
  await ada.button(`Remove ${other.key} (Related)`).click()
  await ada.page.getByRole('link', { name: /Sail/ }).waitFor({ state: 'detached' })
  await ada.button('Delete').click()
  await ada.page.waitForURL(`**/projects/${slug}/tasks`)
  const message = ada.page.locator('.toast', { hasText: `${task.key} deleted` })
  await message.getByRole('button', { name: 'Undo' }).click()
  await card(ada, task.key).waitFor()
  expect(ada.refused.filter((line) => !line.endsWith('404'))).toEqual([
    `PATCH /api/tasks/${task.id} 412`,
    `PATCH /api/tasks/${task.id} 412`,
  ])
  await ada.leave(...ada.refused)
}, 300_000)

test('the graph marks the longest chain and applies the filters; every view shows stored markup as text', async () => {
  const boss = await person(t)
  const viewer = await member(t, boss, 'viewer', 'Vera')
  const ada = await signedIn(t, boss.email)
  const { id, slug, key } = await newProject(ada, `Lantern ${evil.slice(0, 40)}`)
  const label = evil.slice(0, 40)
  await newTask(ada, slug, { title: evil, labels: [label], dueAt: '2030-01-01', assignee: 'me' })
  await newTask(ada, slug, { title: 'Next', blockedBy: [`${key}-1`], labels: [label] })
  await newTask(ada, slug, { title: 'Last', blockedBy: [`${key}-2`] })
  await call(ada, 'POST', '/api/views', {
    name: evil.slice(0, 80),
    query: 'view=list',
    projectId: id,
    shared: true,
  })
  const tasks = `/projects/${slug}/tasks`
  await inEachLook(ada, async () => {
    await expectSound(ada, `${tasks}?view=list&status=todo,blocked`, 'main .li')
    await expectSound(ada, `${tasks}?view=timeline`, 'main li .timerow')
    await expectSound(ada, `${tasks}?view=graph`, 'main .gnode')
    await ada.see(`Longest open chain, 3 tasks: ${key}-1 → ${key}-2 → ${key}-3`)
    await expectSound(ada, `${tasks}?view=graph&label=${encodeURIComponent(label)}`, 'main .gnode')
    await ada.see(`Longest open chain of these, 2 tasks: ${key}-1 → ${key}-2`)
    expect(await ada.page.getByRole('button', { name: /Last.*Does not match the filters/ }).count()).toBe(1)
    await ada.goto(`${tasks}?view=graph&priority=low`)
    await ada.button('Clear filters').click()
    await ada.page.getByRole('button', { name: new RegExp(`${key}-3`) }).click()
    await ada.page.waitForURL(/view=graph&open=/)
    await ada.page
      .getByRole('region', { name: `${key}-3`, exact: true })
      .getByText('Waits for', { exact: true })
      .waitFor()
  })
  const team = await teamOf(ada)
  await ada.leave()

  const vera = await signedIn(t, viewer.email)
  for (const view of ['board', 'list', 'timeline', 'graph']) {
    await vera.goto(`${tasks}?view=${view}&team=${team}`)
    await vera.page.locator('main :is([data-task], .gnode)').first().focus()
    for (const keys of ['x', 'p', 'c', 'm']) await vera.page.keyboard.press(keys)
    expect(await vera.page.getByRole('button', { name: /^(New task|Add to|Menu of [A-Z]+-)/ }).count()).toBe(0)
    expect(await vera.page.getByRole('checkbox').count()).toBe(0)
    expect(await vera.page.getByRole('dialog').count()).toBe(0)
  }
  await vera.button('Views').click()
  await dialog(vera, 'Saved views').getByRole('link').waitFor()
  expect(
    await dialog(vera, 'Saved views')
      .getByRole('button', { name: /^(Save|Delete)/ })
      .count(),
  ).toBe(0)
  await vera.leave()
}, 300_000)
