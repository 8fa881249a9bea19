import { expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import type { WebSocketRoute } from 'playwright-core'
import { catchUp } from '../../src/features/search/indexing/indexing.ts'
import { openPack } from '../../src/pages/pack.ts'
import { recordTransfers, type Transfer } from '../bench/visits.ts'
import { member, person, sharedApp, systemCtx, unique } from '../support/app.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import { call, evil, expectSound, inEachLook, newProject, newTask, signedIn, teamOf, thorough } from './support.ts'

/** What stands around every page of the dashboard: sidebar, palette, keys, search, and how much of it is loaded. */
const t = await sharedApp()

test('the palette opens a task by its key, opens pages and runs page commands; shortcuts can be turned off', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug, key } = await newProject(ada, `Lantern ${evil.slice(0, 30)}`)
  await newTask(ada, slug, { title: evil })
  await ada.goto('/')
  await ada.page.getByRole('heading', { level: 1 }).waitFor()
  await ada.page.keyboard.press('Control+k')
  const palette = ada.page.getByRole('dialog', { name: 'Search or jump' })
  await palette.getByRole('combobox').fill(`${key}-1`)
  await palette.getByRole('option', { name: new RegExp(`^${key}-1`) }).waitFor()
  expect(await axe(ada.page)).toEqual([])
  await ada.page.keyboard.press('Enter')
  await ada.page.waitForURL(`**/tasks/${key}-1`)
  await ada.page.locator('main h1, main .txt').first().waitFor()
  await palette.waitFor({ state: 'detached' })
  // Both at once: on a busy machine the second key would come too late.
  await ada.page.evaluate(`for (const key of ['g', 'p'])
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))`)
  await ada.page.waitForURL('**/projects')
  await ada.page.keyboard.press('?')
  const keys = ada.page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await keys.getByText('Go to Projects').waitFor()
  await keys.getByRole('button', { name: 'Turn off single-key shortcuts' }).click()
  await keys.getByText('Single-key shortcuts are off.').waitFor()
  expect(await keys.getByText('Go to Projects').count()).toBe(0)
  await ada.page.keyboard.press('Escape')
  await keys.waitFor({ state: 'detached' })
  const preferences = await call<{ shortcuts: string }>(ada, 'GET', '/api/settings/preferences')
  expect(preferences.shortcuts).toBe('off')
  await ada.leave()
}, 300_000)

test('a favourite project comes first in the sidebar, and unchanged data is answered with 304', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const first = await newProject(ada, 'Aardvark')
  const second = await newProject(ada, 'Zebra')
  await ada.goto(`/projects/${second.slug}`)
  const firstListed = ada.page.locator('.side .nav:has(.pdot)').first()
  await firstListed.getByText('Aardvark').waitFor()
  const saved = ada.page.waitForResponse((response) => response.request().method() === 'PATCH')
  await ada.page.getByRole('button', { name: 'Favourite' }).click()
  await firstListed.getByText('Zebra').waitFor()
  await saved
  const cdp = await ada.context.newCDPSession(ada.page)
  await cdp.send('Network.enable')
  const statuses: number[] = []
  cdp.on('Network.responseReceivedExtraInfo', ({ statusCode }) => void statuses.push(statusCode))
  await ada.goto(`/projects/${first.slug}`)
  await ada.page.getByRole('heading', { name: 'Aardvark', level: 1 }).waitFor()
  await firstListed.getByText('Zebra').waitFor()
  await ada.page.waitForLoadState('networkidle')
  statuses.splice(0)
  await ada.page.reload()
  await ada.page.getByRole('heading', { name: 'Aardvark', level: 1 }).waitFor()
  await ada.page.waitForLoadState('networkidle')
  expect(statuses).toContain(304)
  await ada.leave()
}, 300_000)

test('search shows stored markup as text on a desktop and on a phone, where every page can be reached', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const word = unique('harbour').replace(/\W/g, '')
  await newTask(ada, slug, { title: `${word} ${evil}` })
  while ((await catchUp(systemCtx(t), {})) !== 'done');
  await inEachLook(ada, async ({ viewport }) => {
    await expectSound(ada, '/search', 'main .void')
    await expectSound(ada, `/search?q=${word}`, 'main .sheet')
    await ada.page.locator('main .sheet').getByText('onerror=alert(1)').waitFor()
    if (viewport.width >= 768) return
    await ada.page.getByRole('navigation', { name: 'Main' }).getByRole('button', { name: 'More' }).click()
    const more = ada.page.getByRole('dialog', { name: 'More' })
    await more.getByRole('link', { name: 'Agents' }).click()
    await ada.page.waitForURL('**/agents')
    await more.waitFor({ state: 'detached' })
    await ada.page.getByRole('navigation', { name: 'Agents' }).getByRole('link', { name: 'Activity' }).click()
    await ada.page.waitForURL('**/activity')
  })
  await ada.leave()
}, 300_000)

test('an address without a team opens its record in another team of the reader', async () => {
  const boss = await person(t)
  const other = await member(t, boss, 'member', 'Ben')
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'In the team of Ada' })
  const team = await teamOf(ada)
  await ada.context.close()
  const ben = await signedIn(t, other.email)
  expect(await teamOf(ben)).not.toBe(team)
  await ben.goto(`/tasks/${task.key}`)
  await ben.page.waitForURL(`**/tasks/${task.key}?team=${team}`)
  await ben.see('In the team of Ada')
  expect(await ben.page.title()).toContain('Tutti')
  await ben.leave(...ben.refused)
}, 300_000)

test('Ctrl+Z undoes a move; a lost connection is shown, and missed events arrive after reconnecting', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Ferry' })
  const sockets: WebSocketRoute[] = []
  await ada.page.routeWebSocket(/\/api\/ws/, (socket) => {
    socket.connectToServer()
    sockets.push(socket)
  })
  const cardIn = (column: string) =>
    ada.page.getByRole('region', { name: new RegExp(`^${column},`) }).getByRole('link', { name: /^[A-Z]+-1 / })
  await ada.goto(`/projects/${slug}/tasks`)
  await ada.see('Live')
  await cardIn('Todo').focus()
  await ada.page.keyboard.press('Alt+ArrowRight')
  await cardIn('In progress').waitFor()
  // Nothing happens before the server has stored the move.
  while ((await cardIn('Todo').count()) === 0) await ada.page.keyboard.press('Control+z')
  // The page shows it before the server has stored it.
  await until(async () => (await call<{ status: string }>(ada, 'GET', `/api/tasks/${task.key}`)).status === 'todo')

  await ada.page.route('**/api/ws/ticket', (route) => route.fulfill({ status: 503, json: {} }))
  for (const socket of sockets) await socket.close()
  await ada.see('Offline since')
  await call(ada, 'PATCH', `/api/tasks/${task.key}`, { status: 'in_review' })
  await ada.page.unroute('**/api/ws/ticket')
  await cardIn('In review').waitFor()
  await ada.page.getByText('Offline since').waitFor({ state: 'detached' })
  expect(new Set(ada.refused)).toEqual(new Set(['POST /api/ws/ticket 503']))
  await ada.leave(...ada.refused)
}, 300_000)

test('the dashboard receives events by server-sent events where WebSockets are blocked', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Ferry' })
  await ada.page.routeWebSocket(/\/api\/ws/, (socket) => socket.close())
  const stream = ada.page.waitForResponse((response) => new URL(response.url()).pathname === '/api/events')
  await ada.goto(`/projects/${slug}/tasks`)
  expect((await stream).status()).toBe(200)
  await ada.see(/^Live$/)
  await call(ada, 'PATCH', `/api/tasks/${task.key}`, { title: 'Lighthouse' })
  await ada.see('Lighthouse')
  await ada.leave()
}, 300_000)

thorough(
  'the dashboard polls for events where WebSockets and streams are blocked',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const task = await newTask(ada, slug, { title: 'Ferry' })
    // Without jitter the page does not wait before it tries again.
    await ada.context.addInitScript('Math.random = () => 0')
    await ada.page.routeWebSocket(/\/api\/ws/, (socket) => socket.close())
    await ada.page.route(/\/api\/events/, (route) =>
      route.request().headers().accept?.includes('json') ? route.continue() : route.fulfill({ status: 502, body: '' }),
    )
    await ada.goto(`/projects/${slug}/tasks`)
    await ada.see('Live (polling)')
    await call(ada, 'PATCH', `/api/tasks/${task.key}`, { title: 'Lighthouse' })
    await ada.see('Lighthouse')
    expect(new Set(ada.refused)).toEqual(new Set(['GET /api/events 502']))
    await ada.leave(...ada.refused)
  },
  300_000,
)

test('a stopped server is shown; a change waits, and work continues once the server is back', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Ferry' })
  const sockets = new Set<WebSocketRoute>()
  let stopped = false
  await ada.page.routeWebSocket(/\/api\/ws/, (socket) => {
    if (stopped) return void socket.close()
    socket.connectToServer()
    sockets.add(socket)
  })
  await ada.page.route('**/api/**', (route) => (stopped ? route.abort('connectionrefused') : route.fallback()))
  const cardIn = (column: string) =>
    ada.page.getByRole('region', { name: new RegExp(`^${column},`) }).getByRole('link', { name: /^[A-Z]+-1 / })
  await ada.goto(`/projects/${slug}/tasks?open=${task.key}`)
  const panel = ada.page.getByRole('region', { name: task.key, exact: true })
  const comment = panel.getByLabel('Write a comment')
  await comment.fill('Written before the break')
  await ada.see('Live')
  await ada.page.evaluate('window.before = true')
  stopped = true
  for (const socket of sockets) await socket.close()
  await ada.see('Offline since')

  // A comment and a change wait; a move that needs the server goes back with the reason.
  await comment.press('Control+Enter')
  await panel.locator('.msg', { hasText: 'Written before the break' }).getByText('not sent yet').waitFor()
  await panel.getByRole('button', { name: /^Priority:/ }).click()
  await ada.page.getByRole('option', { name: /^Critical/ }).click()
  await panel.getByRole('button', { name: 'Priority: Critical not sent yet' }).waitFor()
  await cardIn('Todo').focus()
  await ada.page.keyboard.press('Alt+ArrowRight')
  await ada.see(`${task.key} moved back`)
  await cardIn('Todo').waitFor()

  // A part whose script is not loaded yet breaks nothing, and comes when the server is back.
  await ada.page.route(/\/(web|health)\//, (route) => (stopped ? route.abort('connectionrefused') : route.fallback()))
  const missing = ada.page.waitForEvent('requestfailed', (request) => request.url().includes('/health/live'))
  await ada.page.keyboard.press('?')
  await missing
  await cardIn('Todo').waitFor()

  stopped = false
  await ada.page.getByRole('dialog').getByText('Everywhere').waitFor()
  await ada.page.keyboard.press('Escape')
  await ada.page.getByText('Offline since').waitFor({ state: 'detached' })
  await panel.getByText('not sent yet').first().waitFor({ state: 'detached' })
  await until(
    async () => (await call<{ priority: string }>(ada, 'GET', `/api/tasks/${task.key}`)).priority === 'critical',
  )
  expect(await panel.locator('.msg', { hasText: 'Written before the break' }).count()).toBe(1)
  await cardIn('Todo').focus()
  await ada.page.keyboard.press('Alt+ArrowRight')
  await cardIn('In progress').waitFor()
  expect(await ada.page.evaluate('window.before')).toBe(true)
  const stored = await until(async () => {
    const read = await call<{ status: string; comments: unknown[]; priority: string }>(
      ada,
      'GET',
      `/api/tasks/${task.key}`,
    )
    return read.status === 'in_progress' && read
  })
  expect([stored.comments.length, stored.priority]).toEqual([1, 'critical'])

  // A page that is not loaded yet opens when the server is back; the browser shows no error of its own meanwhile.
  stopped = true
  const away = ada.page.waitForEvent('requestfailed', (request) => request.url().includes('/health/live'))
  await ada.page.getByRole('link', { name: 'Knowledge' }).click()
  await away
  stopped = false
  await ada.page.getByRole('heading', { name: 'Notes', level: 1 }).waitFor()
  expect(await ada.page.evaluate('window.before')).toBe(true)
  const lost = ada.trouble.filter((line) => !line.includes('ERR_CONNECTION_REFUSED'))
  ada.trouble.splice(0, ada.trouble.length, ...lost)
  await ada.leave()
}, 300_000)

test('three tabs stay signed in when all renew the session at once, without browser locks', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  await ada.context.addInitScript('Object.defineProperty(navigator, "locks", { value: undefined })')
  const cookies = (await ada.context.cookies()).filter(({ name }) => name !== 'tutti_access')
  await ada.context.clearCookies()
  await ada.context.addCookies(cookies)
  const tabs = [ada.page, ada.watch(await ada.context.newPage()), ada.watch(await ada.context.newPage())]
  await Promise.all(tabs.map((tab) => tab.goto(`${ada.url}/projects`)))
  await Promise.all(tabs.map((tab) => tab.locator('main h1').waitFor()))
  expect(await ada.me()).toBe(boss.email)
  expect(ada.refused.filter((line) => line.includes('/api/auth/refresh'))).toEqual([])
  await ada.leave(...ada.refused)
}, 300_000)

thorough(
  'a page makes few requests and loads few bytes',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const task = await newTask(ada, slug, { title: 'One' })
    for (const path of ['/', '/projects', `/projects/${slug}/tasks`, `/tasks/${task.key}`]) {
      // The page before loads code ahead, which must not be counted here.
      await ada.page.goto('about:blank')
      ada.asked.splice(0)
      await ada.goto(path)
      await ada.page.locator('main h1').waitFor()
      await ada.page.waitForLoadState('networkidle')
      const called = ada.asked.filter(({ pathname }) => pathname.startsWith('/api/'))
      expect({ path, calls: called.length <= 8 || called.map(String) }).toEqual({ path, calls: true })
      // The picker of a task and the code for edits that wait are loaded ahead.
      const files = ada.asked.filter(({ pathname }) => /^\/(web|fonts|assets)\//.test(pathname))
      expect({ path, files: files.length <= 14 || files.map(String) }).toEqual({ path, files: true })
    }
    await ada.leave()
  },
  300_000,
)

const KB = 1024
test('the home page is complete after 150 KB, headers included, if the browser has stored nothing', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  await newTask(ada, (await newProject(ada)).slug, { title: 'One' })
  const received: Transfer[] = []
  recordTransfers(await ada.context.newCDPSession(ada.page), received)
  await ada.goto('/')
  await ada.page.locator('main h1').waitFor()
  await ada.page.waitForLoadState('networkidle')
  const total = received.reduce((sum, { bytes }) => sum + bytes, 0)
  expect({ total: Math.max(150 * KB, total), received }).toEqual({ total: 150 * KB, received })
  await ada.leave()
}, 300_000)

test('the built files stay within their size budgets', async () => {
  const pack = await openPack()
  const sizes = new Map<string, number>()
  const texts = new Map<string, string>()
  for (const file of pack.files.values()) {
    const bytes = await pack.bytes(file.raw)
    sizes.set(file.path, gzipSync(bytes, { level: 9 }).length)
    if (/\.(js|html)$/.test(file.path)) texts.set(file.path, new TextDecoder().decode(bytes))
  }
  const css = [...sizes].filter(([path]) => path.endsWith('.css')).reduce((sum, [, size]) => sum + size, 0)
  expect(css).toBeLessThanOrEqual(16.5 * KB)
  const linked = [...(texts.get('/index.html') ?? '').matchAll(/"(\/web\/[^"]+\.js)"/g)].map(
    ([, path]) => path as string,
  )
  const shell = new Set(linked)
  const total = (paths: Iterable<string>) => [...paths].reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0)
  expect(total(shell)).toBeLessThanOrEqual(148 * KB)
  /** What a chunk needs besides the shell. */
  const withImports = (path: string, found = new Set<string>()): Set<string> => {
    if (shell.has(path) || found.has(path)) return found
    found.add(path)
    for (const [, next] of (texts.get(path) ?? '').matchAll(/(?:from|import)"(\/web\/[^"]+\.js)"/g))
      withImports(next as string, found)
    return found
  }
  for (const path of texts.keys()) {
    if (!path.endsWith('.js') || shell.has(path)) continue
    expect({ path, own: Math.max(45 * KB, sizes.get(path) ?? 0) }).toEqual({ path, own: 45 * KB })
    // Ten files with the shell, the style sheet, the font and the icon. A task that is open beside brings three more.
    expect({ path, files: Math.max(6, withImports(path).size) }).toEqual({ path, files: 6 })
    // A page that opens the dialog for a new task then also loads the editor and the pickers.
    const most = (path.startsWith('/web/dialog-') ? 274 : 232) * KB
    const whole = total(shell) + total(withImports(path))
    expect({ path, whole: Math.max(most, whole) }).toEqual({ path, whole: most })
  }
})
