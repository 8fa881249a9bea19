import { describe, expect, test } from 'bun:test'
import { person, sharedApp } from '../support/app.ts'
import { axe } from './axe.ts'
import { inEachLook, newProject, signedIn, type Visitor } from './support.ts'

/** The dashboard as an app: its manifest, its service worker, and the page that is shown without a connection. */
const t = await sharedApp()

/** Opens the page and waits until the service worker is ready to serve the next one. */
async function withWorker(path: string): Promise<Visitor> {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  await newProject(ada, 'Lantern')
  await ada.goto(path)
  await ada.page.evaluate('navigator.serviceWorker.ready.then(() => true)')
  return ada
}

/** Everything that the browser stores for the service worker. */
const storedPaths = (who: Visitor) =>
  who.page.evaluate<string[]>(`(async () => {
    const requests = []
    for (const name of await caches.keys()) requests.push(...(await (await caches.open(name)).keys()))
    return requests.map(({ url }) => new URL(url).pathname).sort()
  })()`)

const ofOfflinePage = ['/assets/enter.css', '/assets/icon.svg', '/assets/offline.js', '/assets/tutti.css', '/offline']

/** Removes what the browser itself reports of requests without a connection. */
const forgetOffline = (who: Visitor) =>
  who.trouble.splice(0, Infinity, ...who.trouble.filter((text) => !/ERR_INTERNET_DISCONNECTED|WebSocket/.test(text)))

describe('the service worker', () => {
  test('stores the offline page and its files only, whatever was read', async () => {
    const ada = await withWorker('/projects')
    for (const path of ['/inbox', '/', '/settings/profile', '/projects']) {
      await ada.goto(path)
      await ada.page.locator('main h1').first().waitFor()
    }
    expect(await ada.page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true)
    expect(await storedPaths(ada)).toEqual(ofOfflinePage)
    await ada.leave()
  }, 300_000)

  test('shows a page without a connection, which opens the wanted one when the connection is back', async () => {
    const ada = await withWorker('/projects')
    await ada.context.setOffline(true)
    await inEachLook(ada, async () => {
      await ada.goto('/projects')
      await ada.page.getByRole('heading', { name: 'You are offline', level: 1 }).waitFor()
      expect(await axe(ada.page)).toEqual([])
      expect(await ada.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    })
    // A style sheet of the page was loaded from the cache.
    const paper = await ada.page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(paper).toBe('rgb(248, 247, 249)')
    const again = ada.page.getByRole('link', { name: 'Try again' })
    await again.focus()
    await Promise.all([ada.page.waitForEvent('load'), ada.page.keyboard.press('Enter')])
    await again.waitFor()
    expect(ada.page.url()).toBe(`${ada.url}/projects`)
    await ada.context.setOffline(false)
    await ada.page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
    forgetOffline(ada)
    await ada.leave()
  }, 300_000)

  test('leaves addresses outside of the dashboard to the browser', async () => {
    const ada = await withWorker('/projects')
    await ada.context.setOffline(true)
    for (const path of ['/api/projects', '/manual/start', '/t/laptop/'])
      await expect(ada.goto(path)).rejects.toThrow('ERR_INTERNET_DISCONNECTED')
    await ada.context.setOffline(false)
    await ada.goto('/projects')
    forgetOffline(ada)
    await ada.leave()
  }, 300_000)

  test('loses everything that it stored when its user signs out, and stores it again at the next sign-in', async () => {
    const ada = await withWorker('/projects')
    expect(await storedPaths(ada)).toEqual(ofOfflinePage)
    await ada.page.getByRole('button', { name: /^Your account:/ }).click()
    await ada.page.getByRole('menuitem', { name: 'Sign out' }).click()
    await ada.page.waitForURL('**/login*')
    expect(await ada.page.evaluate('caches.keys()')).toEqual([])
    await ada.register('Ada Lovelace')
    await ada.goto('/projects')
    await ada.page.waitForFunction('caches.match("/offline").then(Boolean)')
    await ada.leave(...ada.refused)
  }, 300_000)
})

test('the manifest is valid, and its icons have the sizes that it names', async () => {
  const ada = await withWorker('/projects')
  const cdp = await ada.context.newCDPSession(ada.page)
  const { errors, data, url } = await cdp.send('Page.getAppManifest')
  expect({ errors, url }).toEqual({ errors: [], url: `${ada.url}/manifest.webmanifest` })
  const { icons, ...app } = JSON.parse(data ?? '') as { icons: { src: string; sizes: string; purpose: string }[] }
  expect(app).toMatchObject({ start_url: '/', display: 'standalone' })
  expect(icons.map(({ purpose }) => purpose)).toContain('maskable')
  for (const { src, sizes } of icons.filter(({ src }) => src.endsWith('.png'))) {
    const size = await ada.page.evaluate(`(async () => {
      const image = new Image()
      image.src = ${JSON.stringify(src)}
      await image.decode()
      return image.naturalWidth + 'x' + image.naturalHeight
    })()`)
    expect({ src, size }).toEqual({ src, size: sizes })
  }
  await ada.leave()
}, 300_000)
