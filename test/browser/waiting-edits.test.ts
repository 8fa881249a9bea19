import { expect, test } from 'bun:test'
import type { TaskDetail } from '../../src/features/tasks/schema.ts'
import { member, type Person, person, sharedApp } from '../support/app.ts'
import { json } from '../support/binary.ts'
import { until } from '../support/until.ts'
import { axe } from './axe.ts'
import { isLive, looks, newProject, newTask, signedIn, thorough, type Visitor } from './support.ts'

/** Edits that are made without a connection: they wait in the tab, and are sent when the connection is back. */
const t = await sharedApp()

/** Calls the API from outside the browser, which may be offline. */
async function outside<T>({ token }: Person, method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(t.app.url + path, json(method, body, token))
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

/** Opens a page, and waits for the code that lets edits wait. */
async function open(who: Visitor, path: string): Promise<void> {
  const code = who.page.waitForResponse(/\/web\/code-/)
  await who.goto(path)
  await (await code).finished()
  await isLive(who)
  await who.page.waitForLoadState('networkidle')
}

async function goOffline({ context, page }: Visitor): Promise<void> {
  await context.setOffline(true)
  // The browser may send this event before it cuts the network, so the test sends it again.
  await page.evaluate("dispatchEvent(new Event('offline'))")
  await page.getByText('Offline. Reconnecting…').waitFor({ state: 'attached' })
}

const forgetFailures = ({ trouble }: Visitor): void => {
  trouble.splice(0, trouble.length, ...trouble.filter((one) => !/ERR_|WebSocket|fetching the script/.test(one)))
}

/** The changes of tasks that the browser sends, in order, with their keys. */
function recordWrites({ page }: Visitor) {
  const writes: { path: string; body: Record<string, unknown>; key: string | undefined }[] = []
  page.on('request', (request) => {
    const path = new URL(request.url()).pathname
    if (request.method() === 'GET' || !path.startsWith('/api/tasks/')) return
    writes.push({ path, body: request.postDataJSON() ?? {}, key: request.headers()['idempotency-key'] })
  })
  return writes
}

test('edits by keyboard wait offline, are sent once and in order when back, and a conflict is listed', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const { key } = await newTask(ada, slug, { title: 'Read offline' })
  const read = () => outside<TaskDetail>(boss, 'GET', `/api/tasks/${key}`)
  const { keyboard } = ada.page
  const go = (path: string) => ada.page.evaluate(`history.pushState({}, '', ${JSON.stringify(path)})`)
  const unsent = ada.page.getByText('not sent yet')
  const list = `/projects/${slug}/tasks?view=list&group=none`
  await open(ada, list)
  await ada.page.locator('[data-task]', { hasText: key }).waitFor()
  await go(`/tasks/${key}`)
  await ada.page.getByRole('heading', { name: 'Read offline' }).waitFor()
  await ada.page.waitForLoadState('networkidle')
  const writes = recordWrites(ada)
  await goOffline(ada)

  await keyboard.press('s')
  const done = ada.page.getByRole('option', { name: /^Done/ })
  await done.getByText('You are offline. This needs a connection.').waitFor()
  expect(await done.getAttribute('aria-disabled')).toBe('true')
  await keyboard.press('Escape')
  await keyboard.press('p')
  await keyboard.press('1')
  await ada.page.getByRole('button', { name: 'Priority: Critical not sent yet' }).waitFor()
  await ada.page.getByRole('button', { name: 'Read offline' }).press('Enter')
  await keyboard.press('Control+a')
  await keyboard.type('Read on a plane')
  await keyboard.press('Enter')
  await ada.page.getByRole('heading', { name: 'Read on a plane' }).waitFor()
  await keyboard.press('Shift+E')
  await keyboard.type('8')
  await keyboard.press('Enter')
  await ada.page.getByRole('button', { name: 'Estimate: 8 points not sent yet' }).waitFor()
  await keyboard.press('Control+z')
  await ada.page.getByRole('button', { name: 'Estimate: not set' }).waitFor()
  await keyboard.press('Shift+E')
  await keyboard.type('5')
  await keyboard.press('Enter')
  await ada.page.getByRole('textbox', { name: 'Write a comment' }).focus()
  await keyboard.type('Written above the clouds')
  await ada.button('Send').press('Enter')
  await ada.page.locator('.msg', { hasText: 'above the clouds' }).getByText('not sent yet').waitFor()
  expect(await unsent.count()).toBe(4)
  await ada.page.getByText(/^Offline since \d.* · Loaded at \d.* · 4 changes wait$/).waitFor()
  for (const { colorScheme, viewport } of looks) {
    await ada.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await ada.page.setViewportSize(viewport)
    expect(await axe(ada.page)).toEqual([])
  }
  await go(list)
  const row = ada.page.locator('[data-task]', { hasText: 'Read on a plane' })
  await row.getByText('not sent yet').waitFor()
  expect(writes).toEqual([])

  // Someone else changes the title meanwhile, so only that edit is in conflict.
  await outside(boss, 'PATCH', `/api/tasks/${key}`, { title: 'Read in a tent' })
  await ada.context.setOffline(false)
  const refused = ada.page.getByRole('alert', { name: '1 change was not saved' })
  await refused.getByText('title “Read on a plane”').waitFor()
  await refused.getByText('Someone else changed this first. Your change was not saved.').waitFor()
  await unsent.first().waitFor({ state: 'detached' })
  const now = await read()
  expect(now).toMatchObject({ title: 'Read in a tent', priority: 'critical', estimate: 5 })
  expect(now.comments.map(({ body }) => body)).toEqual(['Written above the clouds'])
  // The first edit is sent again, based on the version of someone else.
  expect(writes.map(({ path, body }) => [path.split('/').slice(4).join(), ...Object.keys(body)])).toEqual([
    ['', 'priority'],
    ['', 'priority'],
    ['', 'estimate'],
    ['comments', 'body'],
  ])
  expect(new Set(writes.map((write) => write.key)).size).toBe(3)
  expect(await axe(ada.page)).toEqual([])
  await refused.getByRole('button', { name: /^Try again/ }).press('Enter')
  await until(async () => (await read()).title === 'Read on a plane')
  await refused.waitFor({ state: 'detached' })
  forgetFailures(ada)
  await ada.leave(`PATCH /api/tasks/${now.id} 412`)
}, 300_000)

test('an edit whose answer was lost is sent again with the same key, and closing the tab or signing out asks first', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const { key } = await newTask(ada, slug, { title: 'Read offline' })
  await open(ada, `/tasks/${key}`)
  const writes = recordWrites(ada)
  // The first comment reaches the server, but its answer does not reach the browser; the second attempt fails there.
  const answers: ('lose' | 500)[] = ['lose', 500]
  await ada.page.route('**/api/tasks/*/comments', async (route) => {
    const next = answers.shift()
    if (next === 500) return route.fulfill({ status: 500, body: '{}' })
    if (next === undefined) return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await ada.page.getByRole('textbox', { name: 'Write a comment' }).focus()
  await ada.page.keyboard.type('Once only')
  await ada.button('Send').press('Enter')
  const comment = ada.page.locator('.msg', { hasText: 'Once only' })
  await comment.getByText('not sent yet').waitFor()
  await ada.page.getByText('1 waiting change sent').waitFor()
  await ada.page.getByText('not sent yet').waitFor({ state: 'detached' })
  await until(async () => (await comment.count()) === 1)
  const { comments } = await outside<TaskDetail>(boss, 'GET', `/api/tasks/${key}`)
  expect(comments.map(({ body }) => body)).toEqual(['Once only'])
  expect({ sent: writes.length, keys: new Set(writes.map((write) => write.key)).size }).toEqual({ sent: 3, keys: 1 })

  // The code of the menu is loaded when it is first opened.
  const account = ada.page.getByRole('button', { name: /^Your account/ })
  const signOut = ada.page.getByRole('menuitem', { name: 'Sign out' })
  await account.click()
  await signOut.waitFor()
  await ada.page.keyboard.press('Escape')
  await signOut.waitFor({ state: 'detached' })
  await goOffline(ada)
  await ada.page.keyboard.press('p')
  await ada.page.keyboard.press('1')
  await ada.page.getByRole('button', { name: 'Priority: Critical not sent yet' }).waitFor()
  // The browser of the test dismisses every question, and notes it.
  const asked = () => ada.trouble.filter((one) => one.startsWith('dialog:'))
  await account.click()
  await signOut.click()
  await until(() => asked().length === 1)
  expect(asked()).toEqual(['dialog: 1 change is not saved yet and will be lost. Sign out?'])
  await ada.page.close({ runBeforeUnload: true })
  await until(() => asked().length === 2)
  await ada.context.setOffline(false)
  await until(async () => (await outside<TaskDetail>(boss, 'GET', `/api/tasks/${key}`)).priority === 'critical')
  forgetFailures(ada)
  ada.trouble.splice(0, ada.trouble.length, ...ada.trouble.filter((one) => !one.startsWith('dialog:')))
  await ada.leave(`POST /api/tasks/${comments[0]?.taskId}/comments 500`)
}, 300_000)

thorough(
  'a hundred edits wait at most: a selection that does not fit is refused with the reason',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const tasks = Array.from({ length: 51 }, (_, n) => ({ title: `Task ${n + 1}` }))
    for (const some of [tasks.slice(0, 50), tasks.slice(50)])
      await outside(boss, 'POST', `/api/projects/${slug}/tasks/batch`, { tasks: some })
    await open(ada, `/projects/${slug}/tasks?view=list&group=none`)
    await ada.page.locator('[data-task]').first().waitFor()
    await goOffline(ada)
    const { keyboard } = ada.page
    await keyboard.press('j')
    await keyboard.press('Control+a')
    await ada.page.getByRole('toolbar', { name: '51 selected' }).waitFor()
    await keyboard.press('p')
    await keyboard.press('1')
    await ada.page.getByText(/ · 51 changes wait$/).waitFor()
    await keyboard.press('p')
    await keyboard.press('2')
    await ada.see('Without a connection, 100 changes can wait. There is room for 49 more.')
    await keyboard.press('Control+z')
    await ada.page.getByText(/edits of tasks wait here$/).waitFor()
    forgetFailures(ada)
    await ada.leave()
  },
  300_000,
)

test('an edit that makes the server fail is listed, and an ended session keeps the edits behind it', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const { id, key } = await newTask(ada, slug, { title: 'Read offline' })
  const read = () => outside<TaskDetail>(boss, 'GET', `/api/tasks/${key}`)
  await open(ada, `/tasks/${key}`)
  const failing = (url: URL) => url.pathname === `/api/tasks/${id}`
  await ada.page.route(failing, (route) =>
    route.request().method() === 'PATCH' ? route.fulfill({ status: 500, body: '{}' }) : route.continue(),
  )
  await goOffline(ada)
  await ada.page.keyboard.press('p')
  await ada.page.keyboard.press('1')
  await ada.page.getByRole('textbox', { name: 'Write a comment' }).focus()
  await ada.page.keyboard.type('Not held up')
  await ada.button('Send').press('Enter')
  await ada.context.setOffline(false)
  const refused = ada.page.getByRole('alert', { name: '1 change was not saved' })
  await refused.waitFor()
  await until(async () => (await read()).comments.length === 1)
  expect(await read()).toMatchObject({ priority: 'medium', comments: [{ body: 'Not held up' }] })

  await ada.page.unroute(failing)
  const cookies = await ada.context.cookies()
  await ada.context.clearCookies()
  await refused.getByRole('button', { name: /^Try again/ }).click()
  await ada.see('Your session has ended')
  const signIn = ada.context.waitForEvent('page')
  await ada.button('Sign in').click()
  expect(new URL((await signIn).url()).pathname).toBe('/login')
  await (await signIn).close()
  // As after signing in there.
  await ada.context.addCookies(cookies)
  await until(async () => (await read()).priority === 'critical')
  await ada.page.getByText('Your session has ended').waitFor({ state: 'detached' })
  expect(new URL(ada.page.url()).pathname).toBe(`/tasks/${key}`)
  forgetFailures(ada)
  const isExpected = (one: string) => / 401$/.test(one) || one === `PATCH /api/tasks/${id} 500`
  expect(ada.refused.filter((one) => !isExpected(one))).toEqual([])
  await ada.leave(...ada.refused)
}, 300_000)

test('an edit is not sent as another user, who signed in in another tab', async () => {
  const boss = await person(t)
  const grace = await signedIn(t, (await member(t, boss, 'member')).email)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const { key } = await newTask(ada, slug, { title: 'Read offline' })
  await open(ada, `/tasks/${key}`)
  await goOffline(ada)
  await ada.page.keyboard.press('p')
  await ada.page.keyboard.press('1')
  await ada.see('not sent yet')
  await ada.context.clearCookies()
  await ada.context.addCookies(await grace.context.cookies())
  await ada.context.setOffline(false)
  const refused = ada.page.getByRole('alert', { name: '1 change was not saved' })
  await refused.getByText('Another user made this change, so it cannot be sent.').waitFor()
  expect(await outside<TaskDetail>(boss, 'GET', `/api/tasks/${key}`)).toMatchObject({ priority: 'medium', version: 1 })
  forgetFailures(ada)
  await refused.getByRole('button', { name: /^Discard/ }).click()
  await ada.leave(...ada.refused)
  await grace.context.close()
}, 300_000)

test('an edit whose answer was lost after others changed the task is known, and a failed undo can be repeated', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const { id, key } = await newTask(ada, slug, { title: 'Read offline' })
  const read = () => outside<TaskDetail>(boss, 'GET', `/api/tasks/${key}`)
  await open(ada, `/tasks/${key}`)
  const writes = recordWrites(ada)
  const answers: ('outdate' | 'lose')[] = ['outdate', 'lose']
  await ada.page.route(`**/api/tasks/${id}`, async (route) => {
    const next = route.request().method() === 'PATCH' ? answers.shift() : undefined
    if (next === 'outdate') await outside(boss, 'PATCH', `/api/tasks/${key}`, { estimate: 3 })
    if (next !== 'lose') return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  const { keyboard } = ada.page
  await keyboard.press('p')
  await keyboard.press('1')
  await ada.page.getByText('1 waiting change sent').waitFor()
  expect(await ada.page.getByRole('alert', { name: /not saved$/ }).count()).toBe(0)
  expect(await read()).toMatchObject({ priority: 'critical', estimate: 3, version: 3 })
  expect({ sent: writes.length, keys: new Set(writes.map((write) => write.key)).size }).toEqual({ sent: 3, keys: 1 })

  await keyboard.press('p')
  await keyboard.press('2')
  await until(async () => (await read()).priority === 'high')
  const undo = '**/api/changes/*/undo'
  await ada.page.route(undo, (route) => route.abort('connectionreset'))
  await keyboard.press('Control+z')
  await ada.see('Could not undo: ')
  await ada.page.unroute(undo)
  await keyboard.press('Control+z')
  await until(async () => (await read()).priority === 'critical')
  forgetFailures(ada)
  await ada.leave(`PATCH /api/tasks/${id} 412`)
}, 300_000)
