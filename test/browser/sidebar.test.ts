import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { paths } from '../../src/paths.ts'
import { inside } from '../features/support.ts'
import { member, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import { call, newProject, newTask, signedIn } from './support.ts'

const t = await sharedApp()

/** Menus are drawn at the end of the document, outside of every landmark. */
const axeWithMenu = async (page: Page) => (await axe(page)).filter((finding) => !finding.startsWith('region:'))

describe('the sidebar', () => {
  test('shows the pages of the open project with totals, and of no other', async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada, 'Lantern')
    await newProject(ada, 'Harbour')
    await newTask(ada, slug, { title: 'One' })
    const side = ada.page.locator('.side')
    await ada.goto('/')
    await side.getByRole('link', { name: 'Harbour' }).waitFor()
    expect(await side.locator('.nav.sub').count()).toBe(0)
    await side.getByRole('link', { name: 'Lantern' }).click()
    await side.getByRole('link', { name: 'Tasks 1' }).waitFor()
    expect(await side.locator('.nav.sub').allInnerTexts()).toEqual(['Tasks\n1', 'Plan', 'Features', 'Notes'])
    const key = (await newTask(ada, slug, { title: 'Two' })).key
    await side.getByRole('link', { name: 'Tasks 2' }).waitFor()
    await side.getByRole('link', { name: 'Notes' }).click()
    await ada.page.waitForURL(`**/notes?project=${slug}`)
    expect(await side.locator('.nav.sub[aria-current]').textContent()).toBe('Notes')
    await ada.goto(`/tasks/${key}`)
    await side.locator('.nav.sub').first().waitFor()
    await ada.leave()
  }, 300_000)

  test('has one entry for pages that a switch on top of them connects', async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    await ada.goto('/memories')
    const tabs = ada.page.getByRole('navigation', { name: 'Knowledge' })
    await tabs.getByRole('link', { name: 'Skills' }).waitFor()
    expect(await tabs.getByRole('link').allInnerTexts()).toEqual(['Notes', 'Decisions', 'Specs', 'Memory', 'Skills'])
    expect(await tabs.locator('[aria-current=page]').textContent()).toBe('Memory')
    expect(await ada.page.locator('.side [aria-current]').textContent()).toBe('Knowledge')
    await tabs.getByRole('link', { name: 'Skills' }).focus()
    await ada.page.keyboard.press('Enter')
    await ada.page.waitForURL('**/skills')
    expect(await axe(ada.page)).toEqual([])
    await ada.leave()
  }, 300_000)

  test('shows only icons after Ctrl+/, also after a reload', async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    await newProject(ada, 'Lantern')
    await ada.goto('/')
    const label = ada.page.locator('.side').getByText('Knowledge', { exact: true })
    await label.waitFor()
    await ada.page.keyboard.press('Control+/')
    await label.waitFor({ state: 'hidden' })
    await ada.page.reload()
    await ada.page.locator('.side .nav').first().waitFor()
    expect(await label.isVisible()).toBe(false)
    expect(await axe(ada.page)).toEqual([])
    await ada.page.locator('.side').getByRole('link', { name: 'Lantern' }).click()
    await ada.page.waitForURL('**/projects/lantern')
    await ada.page.keyboard.press('Control+/')
    await label.waitFor()
    await ada.leave()
  }, 300_000)

  test('counts the open tasks of the reader where there is a page for them', async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    await newTask(ada, slug, { title: 'Mine', assignee: 'me' })
    await newTask(ada, slug, { title: 'Of no one' })
    await ada.goto('/')
    await ada.page.getByRole('heading', { level: 1 }).waitFor()
    const entry = ada.page.locator('.side').getByRole('link', { name: 'My tasks 1' })
    expect(await entry.count()).toBe((paths as readonly string[]).includes('/tasks') ? 1 : 0)
    await ada.leave()
  }, 300_000)
})

describe('the team menu', () => {
  test('leads to members, tokens, trash and reports, and to other teams', async () => {
    const boss = await person(t)
    await member(t, boss, 'member', 'Ben')
    const ada = await signedIn(t, boss.email)
    await call(ada, 'POST', '/api/teams', { name: 'Second crew' })
    await ada.goto('/')
    const open = ada.page.getByRole('button', { name: /^Team: / })
    await open.focus()
    await ada.page.keyboard.press('Enter')
    const menu = ada.page.getByRole('menu')
    await menu.getByText('2 people, 0 agents').waitFor()
    expect(await axeWithMenu(ada.page)).toEqual([])
    const entries = await menu.getByRole('menuitem').allInnerTexts()
    expect(entries.map((text) => text.split('\n')[0])).toEqual([
      'Members and invites',
      'Tokens',
      'Trash',
      'Reports',
      'Switch team…',
      'New team',
    ])
    await menu.getByRole('menuitem', { name: 'Switch team…' }).click()
    await ada.page.getByRole('dialog', { name: 'Switch team' }).getByRole('button', { name: 'Second crew' }).click()
    await ada.page.waitForURL('**/projects?team=second-crew*')
    await ada.page.getByRole('button', { name: 'Team: Second crew, switch' }).waitFor()
    await ada.leave()
  }, 300_000)
})

describe('the menu of a project', () => {
  test('opens by right-click and changes the key and the colour', async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada, 'Lantern')
    await ada.goto('/')
    const entry = ada.page.locator('.navrow', { hasText: 'Lantern' })
    await entry.hover()
    await entry.getByRole('link').click({ button: 'right' })
    const menu = ada.page.getByRole('menu')
    await menu.getByRole('menuitem', { name: 'Name, key and colour' }).waitFor()
    expect(await axeWithMenu(ada.page)).toEqual([])
    await menu.getByRole('menuitem', { name: 'Name, key and colour' }).click()
    const dialog = ada.page.getByRole('dialog', { name: 'Project' })
    await dialog.getByLabel('Key').fill('lamp')
    await dialog.getByRole('radio', { name: 'Green' }).focus()
    await ada.page.keyboard.press('ArrowRight')
    expect(await axe(ada.page)).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await entry.locator('.pdot.blue').waitFor()
    const { color, key } = await call<{ color: string; key: string }>(ada, 'GET', `/api/projects/${slug}`)
    expect({ color, key }).toEqual({ color: 'blue', key: 'LAMP' })
    await ada.leave()
  }, 300_000)

  test('archives the project, which the message can undo', async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada, 'Lantern')
    await ada.goto('/')
    const dots = ada.page.getByRole('button', { name: 'Menu of Lantern' })
    await dots.focus()
    await ada.page.keyboard.press('Enter')
    await ada.page.getByRole('menuitem', { name: 'Archive' }).click()
    await dots.waitFor({ state: 'detached' })
    await ada.page.getByRole('button', { name: 'Undo' }).click()
    await dots.waitFor()
    expect((await call<{ status: string }>(ada, 'GET', `/api/projects/${slug}`)).status).toBe('active')
    await ada.leave()
  }, 300_000)
})

describe('favourites', () => {
  test('are records of any page: the star and Alt+F add and remove them', async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada, 'Lantern')
    const task = await newTask(ada, slug, { title: 'Read offline' })
    const note = await call<{ id: string }>(ada, 'POST', '/api/notes', { title: 'Release notes', content: 'x' })
    const listed = ada.page.locator('.side').getByRole('group', { name: 'Favourites' }).getByRole('link')
    await ada.goto(`/notes/${note.id}`)
    await ada.page.getByRole('button', { name: 'Favourite' }).click()
    await listed.getByText('Release notes').waitFor()
    await ada.goto(`/tasks/${task.key}`)
    const star = ada.page.getByRole('button', { name: 'Favourite' })
    await star.waitFor()
    await ada.page.keyboard.press('Alt+f')
    await listed.getByText('Read offline').waitFor()
    await ada.page.keyboard.press('Shift+B')
    await listed.getByText('Read offline').waitFor({ state: 'detached' })
    await ada.page.keyboard.press('Shift+B')
    await listed.getByText('Read offline').waitFor()
    expect(await axe(ada.page)).toEqual([])

    // A deleted record vanishes, and returns when it is restored.
    await call(ada, 'DELETE', `/api/notes/${note.id}`)
    await listed.getByText('Release notes').waitFor({ state: 'detached' })
    await call(ada, 'POST', `/api/notes/${note.id}/restore`)
    await listed.getByText('Release notes').click()
    await ada.page.waitForURL(`**/notes/${note.id}`)
    const { favourites } = await call<{ favourites: string[] }>(ada, 'GET', '/api/settings/preferences')
    expect(favourites).toHaveLength(2)
    await ada.leave()
  }, 300_000)
})

describe('on a phone', () => {
  test('the tab bar counts what needs the reader, and More and its menus come from below', async () => {
    const boss = await person(t)
    const other = await member(t, boss, 'member', 'Ben')
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const assign = (title: string) =>
      inside(other, boss.organizationId).fetch('POST', `/api/projects/${slug}/tasks`, { title, assignee: boss.email })
    // The page is live only after the first notification.
    const assigned = Promise.withResolvers<void>()
    await ada.page.route('**/api/ws/ticket', (route) => assigned.promise.then(() => route.continue()))
    await ada.goto('/')
    await ada.page.setViewportSize({ width: 390, height: 844 })
    const bar = ada.page.locator('.tabbar')
    await bar.getByRole('link', { name: 'Inbox' }).waitFor()
    expect(await bar.locator('.tabn').count()).toBe(0)
    await assign('Look at this')
    assigned.resolve()
    await bar.locator('.tabn').getByText('1').waitFor()
    await assign('And at this')
    await bar.locator('.tabn').getByText('2').waitFor()
    await bar.getByRole('button', { name: 'More' }).click()
    const sheet = ada.page.getByRole('dialog', { name: 'More' })
    await sheet.getByRole('link', { name: 'Analytics' }).waitFor()
    const bottom = async () => {
      const box = await sheet.boundingBox()
      return box && Math.round(box.y + box.height)
    }
    await until(async () => (await bottom()) === 844)
    expect(await axe(ada.page)).toEqual([])
    // A menu is a sheet at the bottom too. Escape and a tap above it close it alone.
    const top = (await sheet.boundingBox())?.y ?? 0
    const dots = sheet.getByRole('button', { name: /^Menu of / }).first()
    const menu = ada.page.getByRole('menu')
    for (const close of [() => ada.page.keyboard.press('Escape'), () => ada.page.mouse.click(195, top + 12)]) {
      await dots.click()
      await menu.getByRole('menuitem', { name: 'Export' }).waitFor()
      const box = await menu.boundingBox()
      expect([box?.x, box?.width, Math.round((box?.y ?? 0) + (box?.height ?? 0))]).toEqual([0, 390, 844])
      expect(await axeWithMenu(ada.page)).toEqual([])
      await close()
      await menu.waitFor({ state: 'detached' })
      expect(await sheet.isVisible()).toBe(true)
    }
    await ada.leave()
  }, 300_000)

  test('the board opens on the first column with work, and later where it was left', async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const task = await newTask(ada, slug, { title: 'Look at this' })
    await ada.page.setViewportSize({ width: 390, height: 844 })
    const chosen = ada.page.locator('.phonecols [aria-pressed=true]')
    const cardInView = () =>
      ada.page.evaluate<boolean>(`(() => {
        const box = document.querySelector('.tcard')?.getBoundingClientRect()
        return box !== undefined && box.left >= 0 && box.right <= innerWidth
      })()`)
    await ada.goto(`/projects/${slug}/tasks`)
    await chosen.getByText('Todo 1').waitFor()
    await until(cardInView)
    await call(ada, 'PATCH', `/api/tasks/${task.key}`, { status: 'in_progress' })
    await ada.goto(`/projects/${slug}/tasks`)
    await chosen.getByText('In progress 1').waitFor()
    await until(cardInView)
    await ada.page.locator('.phonecols').getByRole('button', { name: /^Done/ }).click()
    await chosen.getByText('Done 0').waitFor()
    await ada.page.locator('.tabbar').getByRole('link', { name: 'Now' }).click()
    await ada.page.waitForURL('**/now')
    await ada.page.goBack()
    await chosen.getByText('Done 0').waitFor()
    await ada.leave()
  }, 300_000)
})
