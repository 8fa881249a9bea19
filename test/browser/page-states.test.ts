import { describe, expect, test } from 'bun:test'
import type { Page, Route } from 'playwright-core'
import { person, sharedApp } from '../support/app.ts'
import { axe } from './axe.ts'
import { call, isLive, looks, newProject, newTask, signedIn, type Visitor } from './support.ts'

/** What a page shows while its data is on its way, cannot be loaded, or could not be loaded again. */
const t = await sharedApp()

/** Keeps the answers to these requests back, until the returned function is called. */
async function holdBack(page: Page, pattern: string | RegExp): Promise<() => Promise<void>> {
  const held: Route[] = []
  let isHolding = true
  await page.route(pattern, (route) => (isHolding ? void held.push(route) : route.continue()))
  return async () => {
    isHolding = false
    await Promise.all(held.map((route) => route.continue()))
  }
}

/** Records each combination of title, switch of the section and visible heading, in every frame that is drawn. */
const recordHeadings = (page: Page) =>
  page.evaluate(`(() => {
    window.seen = new Set()
    const look = () => {
      const heading = [...document.querySelectorAll('main h1')].find((one) => one.checkVisibility())
      const tabs = document.querySelector('.sectiontabs') ? ' (tabs)' : ''
      window.seen.add(document.title.split(' · ')[0] + tabs + ' / ' + (heading?.textContent ?? ''))
      requestAnimationFrame(look)
    }
    look()
  })()`)
const recordedHeadings = (page: Page) => page.evaluate<string[]>('[...window.seen]')

/** A person with a project and a task, whose page is open and live. */
async function reader(path = '/notes'): Promise<{ ada: Visitor; slug: string; key: string }> {
  const ada = await signedIn(t, (await person(t)).email)
  const { slug } = await newProject(ada)
  const { key } = await newTask(ada, slug, { title: 'Read offline' })
  await ada.goto(path)
  await isLive(ada)
  return { ada, slug, key }
}

/** Requests fail while there is no network, and the console says so. */
const forgetFailures = ({ trouble }: Visitor): void => {
  trouble.splice(
    0,
    trouble.length,
    ...trouble.filter((one) => !/ERR_|WebSocket connection|error occurred when fetching the script/.test(one)),
  )
}

describe('the change of page', () => {
  test('replaces title and content together, and shows a skeleton while the data is held back', async () => {
    const { ada, key } = await reader()
    const release = await holdBack(ada.page, `**/api/tasks/${key}`)
    await recordHeadings(ada.page)
    await ada.page.evaluate(`history.pushState({}, '', '/tasks/${key}')`)
    await ada.page.locator('main [aria-busy=true] h1', { hasText: key }).waitFor()
    expect(await ada.page.locator('.top').isVisible()).toBe(true)
    expect(await axe(ada.page)).toEqual([])
    await release()
    await ada.page.getByRole('heading', { name: 'Read offline' }).waitFor()
    const allowed = ['Notes (tabs) / Notes', `${key} / `, `${key} / ${key}`, `${key} / Read offline`]
    expect(allowed).toEqual(expect.arrayContaining(await recordedHeadings(ada.page)))
    await ada.leave()
  }, 300_000)

  test('shows the skeleton of a page whose script is held back', async () => {
    const { ada } = await reader()
    // The one script that the page of decisions adds is the first that is requested from now on.
    const release = await holdBack(ada.page, '**/web/*.js')
    await recordHeadings(ada.page)
    await ada.page.getByRole('link', { name: 'Decisions', exact: true }).click()
    await ada.page.locator('main [aria-busy=true] h1', { hasText: 'Decisions' }).waitFor()
    await release()
    await ada.see('No decisions yet')
    const allowed = ['Notes (tabs) / Notes', 'Decisions (tabs) / ', 'Decisions (tabs) / Decisions']
    expect(allowed).toEqual(expect.arrayContaining(await recordedHeadings(ada.page)))
    await ada.leave()
  }, 300_000)

  test('says “Not loaded yet” without a connection, keeps loaded pages, and loads when the connection is back', async () => {
    const { ada, slug } = await reader()
    await ada.goto(`/projects/${slug}/tasks`)
    await ada.see('Read offline')
    await isLive(ada)
    await ada.context.setOffline(true)
    // The browser may send this event before it cuts the network, so the test sends it again.
    await ada.page.evaluate("dispatchEvent(new Event('offline'))")
    const bar = ada.page.getByText(/^Offline since \d.* · Loaded at \d/)
    await bar.waitFor()
    for (const path of ['/decisions', '/specs/unknown']) {
      await ada.page.evaluate(`history.pushState({}, '', '${path}')`)
      await ada.page.getByRole('heading', { name: 'Not loaded yet' }).waitFor()
      expect(await ada.page.getByText('Read offline').isVisible()).toBe(false)
    }
    for (const { colorScheme, viewport } of looks) {
      await ada.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await ada.page.setViewportSize(viewport)
      expect(await axe(ada.page)).toEqual([])
      expect(await ada.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
    await ada.page.goBack()
    await ada.page.goBack()
    await ada.see('Read offline')
    await ada.page.goForward()
    await ada.context.setOffline(false)
    await ada.see('No decisions yet')
    await bar.waitFor({ state: 'detached' })
    forgetFailures(ada)
    await ada.leave()
  }, 300_000)

  test('keeps the content if it cannot be loaded again, and offers to try again', async () => {
    const { ada } = await reader()
    await ada.see('No notes yet')
    let isBroken = true
    const fails = { status: 500, body: '{}' }
    await ada.page.route('**/api/notes?*', (route) => (isBroken ? route.fulfill(fails) : route.continue()))
    await call(ada, 'POST', '/api/notes', { title: 'On a plane', content: 'Text' })
    await ada.see('This page could not be loaded again.')
    await ada.see('No notes yet')
    isBroken = false
    await ada.button('Try again').click()
    await ada.see('On a plane')
    await ada.page.getByText('could not be loaded again').waitFor({ state: 'detached' })
    expect(new Set(ada.refused)).toEqual(new Set(['GET /api/notes 500']))
    ada.refused.length = 0
    await ada.leave()
  }, 300_000)
})
