import { expect, test } from 'bun:test'
import { member, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
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
  thorough,
  type Visitor,
} from './support.ts'

/** A project and its plan in a real browser. */
const t = await sharedApp()

const row = (who: Visitor, name: string | RegExp) => who.page.getByRole('row', { name })
const titles = (who: Visitor) => who.page.locator('.trow .ttl').allTextContents()

/** An epic with a story in it, by the API. */
async function planned(who: Visitor, slug: string, title: string): Promise<{ epic: Made; story: Made }> {
  const epics = `/api/projects/${slug}/epics`
  const epic = await call<Made>(who, 'POST', epics, { title, description: title })
  const story = await call<Made>(who, 'POST', `${epics}/${epic.id}/stories`, { title, description: title })
  return { epic, story }
}

test('a plan is written, ordered, renamed, deleted and restored by keyboard; its project shows the progress', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug, key, id } = await newProject(ada)
  await ada.goto(`/projects/${slug}/plan`)
  await ada.see('No plan yet')
  await ada.see(`tutti epics create "First epic" --project ${key}`)
  await ada.page.keyboard.press('c')
  const add = async (title: string) => {
    await ada.page.getByRole('textbox', { name: /^Title of the new/ }).fill(title)
    await ada.page.keyboard.press('Enter')
    await row(ada, new RegExp(title)).waitFor()
  }
  const addTo = async (name: string, what: string) => {
    await row(ada, new RegExp(name))
      .getByRole('button', { name: `Actions for ${name}` })
      .click()
    await ada.page.getByRole('menuitem', { name: `Add a ${what} to ${name}` }).click()
  }
  await add('Offline first')
  await add('Shared shelves')
  await addTo('Offline first', 'story')
  await add('A book on a plane')
  await addTo('A book on a plane', 'task')
  await add('Block store')
  await add('Resume a download')
  await ada.page.keyboard.press('Escape')

  // Up past its neighbour, and down into the project itself, where no story is left; and back.
  const download = row(ada, /Resume a download/)
  await download.focus()
  await ada.page.keyboard.press('Alt+ArrowUp')
  await ada.see('Moved Resume a download')
  const order = ['Offline first', 'A book on a plane', 'Resume a download', 'Block store', 'Shared shelves']
  while (String(await titles(ada)) !== String(order)) await ada.page.evaluate('new Promise(requestAnimationFrame)')
  await ada.page.keyboard.press('F2')
  await ada.page.getByRole('textbox', { name: 'New title' }).fill('Resume a broken download')
  await ada.page.keyboard.press('Enter')
  await row(ada, /Resume a broken download/).waitFor()
  await row(ada, /Block store/).focus()
  await ada.page.keyboard.press('Delete')
  await ada.see('Deleted Block store')
  await ada.button('Undo').click()
  await ada.see('Restored Block store')
  await row(ada, /Block store/).waitFor()
  // The keys of a task work on its row, and in the panel. They are loaded when a row gets the focus.
  const picker = (name: RegExp) => ada.page.getByRole('dialog', { name })
  await row(ada, /Block store/).focus()
  await until(async () => {
    await ada.page.keyboard.press('p')
    return (await picker(/^Priority of/).count()) > 0
  })
  await picker(/^Priority of/)
    .getByRole('combobox')
    .fill('high')
  await ada.page.keyboard.press('Enter')
  await ada.see(/: priority High/)
  await row(ada, /Block store/).press('Enter')
  await ada.page.getByRole('button', { name: 'Priority: High' }).waitFor()
  for (const [press, name] of [
    ['s', /^State of/],
    ['Shift+E', /^Estimate of/],
    ['b', /^Blockers of/],
  ] as const) {
    await ada.page.keyboard.press(press)
    await picker(name).waitFor()
    await ada.page.keyboard.press('Escape')
    await picker(name).waitFor({ state: 'detached' })
  }
  await ada.page.keyboard.press('Escape')
  await row(ada, /A book on a plane/)
    .getByText('0 of 2')
    .waitFor()
  await call(ada, 'POST', `/api/tasks/${key}-1/complete`, {})
  // Others' work shows by itself.
  await row(ada, /Offline first/)
    .getByText('1 of 2')
    .waitFor()
  await ada.button('Paste an outline').click()
  const outline = ada.page.getByRole('dialog', { name: 'Paste an outline' })
  await outline.getByLabel('Outline').fill('# Night\n## Theme\n- [ ] Follow the sun\n- Dim the page')
  await outline.getByText('1 epic, 1 story and 2 tasks.').waitFor()
  await outline.getByRole('button', { name: 'Create it' }).click()
  await row(ada, /Follow the sun/).waitFor()
  await row(ada, /Follow the sun/).focus()
  await ada.page.keyboard.press('Enter')
  await ada.page
    .getByRole('region', { name: `${key}-3`, exact: true })
    .getByText('Follow the sun')
    .waitFor()
  await ada.page.keyboard.press('Escape')

  await ada.goto(`/projects/${slug}`)
  await ada.page.getByRole('img', { name: /^Burn-up: 1 of 4 done/ }).waitFor()
  await ada.section('Epics').getByRole('link', { name: 'Offline first' }).waitFor()
  await ada
    .section('Feed')
    .getByText(/completed .+-1 Block store/)
    .waitFor()
  // The brief and its size are those that an agent gets.
  const view = ada.page.getByRole('region', { name: 'Agent’s view' })
  const brief = await call<{ brief: { tokens: number } }>(ada, 'GET', `/api/context?projectId=${id}&budgetTokens=4000`)
  await view.getByText(`${new Intl.NumberFormat('en-GB').format(brief.brief.tokens)} tokens`).waitFor()
  await view.getByText('of a budget of 4,000').waitFor()
  await view.getByRole('slider').press('Home')
  await view.getByText('of a budget of 500').waitFor()
  await ada.button('AGENTS.md').click()
  await ada.page.getByRole('dialog', { name: 'AGENTS.md' }).getByText(`tutti link ${key}`).waitFor()
  await ada.page.keyboard.press('Escape')
  await ada.section('Epics').getByRole('link', { name: 'Shared shelves' }).click()
  await ada.page.waitForURL(/\/epics\//)
  await ada.page.getByRole('row', { name: /Shared shelves/, selected: true }).waitFor()
  await ada.leave()
}, 300_000)

/** What would change something. The names begin so. */
const writing = /^(New|Add|Create|Complete|Claim|Delete|Actions for|Paste|Share|Settings|Send|Remove|Edit|Save)/

thorough(
  'a viewer, and anyone in an archived project, can read everything and sees no control',
  async () => {
    const boss = await person(t)
    const viewer = await member(t, boss, 'viewer', 'Vera')
    const ada = await signedIn(t, boss.email)
    const { slug, key, id } = await newProject(ada)
    const { epic, story } = await planned(ada, slug, 'Offline first')
    await newTask(ada, slug, { title: 'Block store', storyId: story.id, acceptance: ['One size'] })
    const team = await teamOf(ada)
    const pages = [
      [`/projects/${slug}`, '.epic'],
      [`/projects/${slug}/tasks`, '.tcard'],
      [`/projects/${slug}/plan?open=${key}-1`, '.panel .txt'],
      [`/projects/${slug}/epics/${epic.id}/stories/${story.id}`, '.trow[aria-selected=true]'],
      [`/tasks/${key}-1`, '.txt'],
    ] as const
    const expectNone = async (who: Visitor, also: readonly string[] = []) => {
      for (const [path, there] of pages) {
        await who.goto(`${path}${path.includes('?') ? '&' : '?'}team=${team}`)
        await who.page.locator(`main ${there}`).first().waitFor()
        const names = await who.page.locator('main').getByRole('button', { name: writing }).allTextContents()
        expect({ path, names: names.filter((name) => !also.includes(name)) }).toEqual({ path, names: [] })
        const fields = who.page.locator('main').locator('textarea, input:not([type=search], [type=range])')
        expect({ path, fields: await fields.count() }).toEqual({ path, fields: 0 })
      }
    }
    const vera = await signedIn(t, viewer.email)
    await expectNone(vera)
    // Keys do not do what the page does not offer.
    await vera.goto(`/projects/${slug}/plan?team=${team}`)
    await row(vera, /Block store/).focus()
    for (const keys of ['F2', 'Delete', 'Alt+ArrowUp', 'c']) await vera.page.keyboard.press(keys)
    expect(await vera.page.getByRole('textbox').count()).toBe(0)
    await vera.leave()

    await ada.goto(`/projects/${slug}`)
    await ada.button('Settings').click()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click()
    await ada.see('This project is archived and read-only.')
    const { can } = await call<{ can: Record<string, unknown> }>(ada, 'GET', `/api/projects/${id}`)
    expect(can.write).not.toBe(true)
    // Whoever may take it out of the archive finds the way to do so.
    await expectNone(ada, ['', 'Share', 'Claim', 'Complete'])
    for (const name of ['Claim', 'Complete'])
      expect(await ada.page.getByRole('button', { name, disabled: true }).count()).toBe(1)
    await ada.leave()
  },
  300_000,
)

thorough(
  'the pages of projects, epics and stories show stored markup as text and pass axe',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug, key, id } = await newProject(ada, `Lantern ${evil.slice(0, 60)}`)
    await call(ada, 'PUT', `/api/projects/${id}`, { description: evil })
    const { epic, story } = await planned(ada, slug, evil)
    await newTask(ada, slug, { title: evil, storyId: story.id, estimate: 3, assignee: 'me' })
    await call(ada, 'POST', '/api/decisions', { title: evil, decision: evil, projectId: slug })
    await call(ada, 'POST', `/api/projects/${slug}/features`, { title: evil })
    await call(ada, 'POST', '/api/activities', { type: 'deploy', description: evil, projectId: id })
    await inEachLook(ada, async () => {
      for (const [path, there] of [
        [`/projects/${slug}`, '.brief summary'],
        [`/projects/${slug}/plan`, '.trow'],
        [`/projects/${slug}/plan?open=${key}-1`, '.panel .txt'],
        [`/projects/${slug}/epics/${epic.id}`, '.trow[aria-selected=true]'],
        [`/projects/${slug}/epics/${epic.id}/stories/${story.id}`, '.trow[aria-selected=true]'],
      ] as const)
        await expectSound(ada, path, `main ${there}`)
      await ada.goto(`/projects/${slug}`)
      await ada.page.locator('main .brief summary').first().click()
      expect(await ada.page.locator('#root').locator('img[src=x], script').count()).toBe(0)
    })
    await ada.leave()
  },
  300_000,
)
