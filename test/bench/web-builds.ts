/** The dashboard of this build against that of an older one, whose binary OLD_BUILD names, on the same tasks. */
import type { Browser, Page } from 'playwright-core'
import { type Bench, median, type Row, ratioOf } from './part.ts'
import { type Process, rate } from './processes.ts'
import { launchBrowser, open, type Site, signedIn, type Transfer, transfersOf } from './visits.ts'
import { call, createPerson, emptyEnv, PASSWORD, serve, signIn, type World } from './world.ts'

const KB = 1024
/** Rows of the list, and cards of the board. */
const LISTED = 1000
const CARDS = 200
/** How many tasks one change from the page is about. */
const CHANGED = 500
const RESTARTS = 10

/** A build that runs, with three projects. */
interface Side extends Site {
  server: Process
  env: World['env']
  token: string
  isOld: boolean
}
type Sides = [ours: Side, old: Side]

export async function* compareDashboards(bench: Bench): AsyncGenerator<Row> {
  const { OLD_BUILD } = process.env
  const browser = await launchBrowser()
  try {
    const ours = await openSide()
    yield* firstLoad(browser, ours)
    yield* reconnection(browser, ours)
    if (!OLD_BUILD) return
    const sides: Sides = [ours, await openSide(OLD_BUILD)]
    yield* pages(bench, browser, sides)
    yield* sizes(browser, sides)
    yield* requests(bench, browser, sides)
    yield* keys(bench, browser, sides)
    yield* changes(bench, browser, sides)
    for (const { server } of sides) await server.stop()
  } finally {
    await browser.close()
  }
}

/** Projects LIST, BOARD and MANY with their tasks, created by the API. */
async function openSide(program?: string): Promise<Side> {
  const env = { ...(await emptyEnv('embedded')), EMBEDDINGS: 'off' }
  const server = await serve(env, program)
  const email = 'ada@example.com'
  await createPerson(env, email, program)
  const session = await signIn(server, email)
  const key = { body: { name: 'bench' }, token: session.token }
  const { token } = await call<{ token: string }>(server, '/api/settings/api-keys', key)
  for (const [name, count] of [
    ['List', LISTED],
    ['Board', CARDS],
    ['Many', CHANGED],
  ] as const) {
    await call(server, '/api/projects', { body: { name, key: name.toUpperCase() }, token })
    for (let from = 0; from < count; from += 50) {
      const tasks = Array.from({ length: Math.min(50, count - from) }, (_, i) => taskOf(from + i))
      await call(server, `/api/projects/${name.toLowerCase()}/tasks/batch`, { body: { tasks }, token })
    }
  }
  return { server, env, token, url: server.url, email, password: PASSWORD, isOld: program !== undefined }
}

const priorities = ['low', 'medium', 'high', 'critical'] as const
const taskOf = (n: number) => ({
  title: `Check the common part number ${n}`,
  status: n % 4 ? 'todo' : 'backlog',
  priority: priorities[n % priorities.length],
  labels: n % 3 ? [] : ['bench'],
})

const list = '/projects/list/tasks?view=list'
const board = '/projects/board/tasks'

async function* firstLoad(browser: Browser, ours: Side): AsyncGenerator<Row> {
  const { all: received } = await transfersOf(browser, ours, '/', 'main h1')
  const value = totalOf(received) / KB
  const ofScripts = totalOf(received.filter(isScript)) / KB
  yield {
    what: 'home page, first load',
    ours: `${value.toFixed(0)} KB in ${received.length} requests (scripts ${ofScripts.toFixed(0)} KB)`,
    value,
    bar: { most: 160, unit: 'KB' },
  }
}

/** From the moment when a restarted server listens. */
async function* reconnection(browser: Browser, side: Side): AsyncGenerator<Row> {
  const delays: number[] = []
  const { port } = new URL(side.url)
  await signedIn(browser, side, async (page) => {
    const isLive = () => page.getByText('Live', { exact: true }).waitFor({ state: 'attached' })
    await open(page, `${side.url}/projects`, 'main h1')
    await isLive()
    for (let i = 0; i < RESTARTS; i++) {
      await side.server.stop()
      await page.getByText('Offline. Reconnecting…').waitFor()
      side.server = await serve(side.env, undefined, port)
      const readyAt = performance.now()
      await isLive()
      delays.push(performance.now() - readyAt)
    }
    return undefined
  })
  const value = median(delays) / 1000
  const worst = (Math.max(...delays) / 1000).toFixed(1)
  yield {
    what: `restarted server ready to page live, median of ${RESTARTS}`,
    ours: `${value.toFixed(1)} s (most ${worst})`,
    value,
    bar: { most: 2, unit: 's' },
  }
}

async function* pages({ rounds }: Bench, browser: Browser, sides: Sides): AsyncGenerator<Row> {
  const visits = {
    list: (side: Side) => signedIn(browser, side, (page) => open(page, side.url + list, 'main [data-task]')),
    board: (side: Side) => signedIn(browser, side, (page) => open(page, side.url + board, 'main [data-task]')),
  }
  const cpu = async (visit: (side: Side) => Promise<{ cpu: number }>) =>
    inTurn(rounds + 1, sides, async (side) => (await visit(side)).cpu)
  yield row(`CPU of a grouped list of ${LISTED} tasks`, await cpu(visits.list), 'ms', 1.15)
  yield row(`CPU of a board of ${CARDS} cards`, await cpu(visits.board), 'ms', 1.1)
}

async function* sizes(browser: Browser, sides: Sides): AsyncGenerator<Row> {
  const visited = await Promise.all(sides.map((side) => transfersOf(browser, side, list, 'main [data-task]')))
  const of = (size: (received: Transfer[]) => number): Pair => {
    const [ours = 0, old = 0] = visited.map(({ first }) => size(first))
    return [[ours], [old]]
  }
  const shell = (received: Transfer[]) => Math.max(...received.filter(isScript).map(({ bytes }) => bytes)) / KB
  const scripts = (received: Transfer[]) => totalOf(received.filter(isScript)) / KB
  yield row('scripts of the shell', of(shell), 'KB', 1)
  yield row(
    'scripts of the list of tasks besides the shell, until rows are shown',
    of((received) => scripts(received) - shell(received)),
    'KB',
    1.2,
  )
  yield row(
    'requests of the list of tasks, until rows are shown',
    of((received) => received.length),
    '',
    1,
  )
}

/** What a page asks for is read off its requests; time is elapsed time with 16 connections. */
async function* requests(bench: Bench, browser: Browser, sides: Sides): AsyncGenerator<Row> {
  const asked = new Map<Side, string[]>()
  for (const side of sides) {
    const { all } = await transfersOf(browser, side, list, 'main [data-task]')
    const paths = all.map(({ path }) => path).filter((path) => /^\/api\/tasks\b.*projectId/.test(path))
    asked.set(side, [...new Set(paths)])
  }
  const reading = (side: Side) =>
    sumOf(asked.get(side) ?? [], async (path) => 1000 / (await rate(side.url + path, bench.seconds, side)))
  yield row('GET /api/tasks with all that the list asks for', await inTurn(bench.rounds + 1, sides, reading), 'ms', 1.1)
  const body = JSON.stringify({
    title: 'Created by the bench',
    description: 'lorem ipsum '.repeat(20),
    labels: ['bench'],
  })
  const creating = async ({ url, token }: Side) =>
    1000 / (await rate(`${url}/api/projects/board/tasks`, bench.seconds, { token, body }))
  yield row('POST a task', await inTurn(bench.rounds + 1, sides, creating), 'ms', 1.1)
}

/** From the key press to the focus in what it opens. */
async function* keys({ rounds }: Bench, browser: Browser, sides: Sides): AsyncGenerator<Row> {
  const press = async (side: Side) => {
    const delays: number[] = []
    await signedIn(browser, side, async (page) => {
      await open(page, side.url + list, 'main [data-task]')
      // The first press loads the script.
      for (let i = 0; i < 4; i++) delays.push(await caretDelay(page))
      return undefined
    })
    return median(delays.slice(1))
  }
  yield row('key to caret in the picker', await inTurn(rounds + 1, sides, press), 'ms', 0.5)
}

const watchFocus = `void (window.focused = new Promise((resolve) =>
  addEventListener('keydown', (key) =>
    addEventListener('focusin', () => resolve(performance.now() - key.timeStamp), { once: true }),
  { once: true, capture: true })))`

async function caretDelay(page: Page): Promise<number> {
  const first = page.locator('main [data-task]').first()
  await first.focus()
  await page.evaluate(watchFocus)
  await page.keyboard.press('p')
  const delay = await page.evaluate<number>('window.focused')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('listbox').waitFor({ state: 'detached' })
  return delay
}

/** All tasks of a project get another priority, by keyboard. */
async function* changes({ rounds }: Bench, browser: Browser, sides: Sides): AsyncGenerator<Row> {
  const progress: number[] = []
  const names = ['High', 'Low']
  let turn = 0
  const change = async (side: Side) => {
    let took = 0
    await signedIn(browser, side, async (page) => {
      await selectAll(page, side)
      const name = names[Math.floor(turn++ / 2) % names.length] as string
      await page.keyboard.press('p')
      const begun = await choose(page, side, name)
      if (!side.isOld) {
        await page.getByText(`Changing ${CHANGED} tasks`).first().waitFor()
        progress.push(performance.now() - begun)
      }
      await page.getByRole('button', { name: /^Undo/ }).first().waitFor()
      took = performance.now() - begun
      return undefined
    })
    return took
  }
  yield row(`${CHANGED} tasks changed from the page`, await inTurn(rounds + 1, sides, change), 'ms', 0.5)
  const value = median(progress.slice(1))
  yield {
    what: `first progress of ${CHANGED} changes`,
    ours: `${value.toFixed(0)} ms`,
    value,
    bar: { most: 300, unit: 'ms' },
  }
}

async function selectAll(page: Page, { url }: Side): Promise<void> {
  await open(page, `${url}/projects/many/tasks?view=list&group=none&sort=number`, 'main [data-task]')
  const rows = page.getByRole('list', { name: 'Tasks' })
  await rows.hover()
  const last = rows.locator('[data-task]').filter({ hasText: /MANY-1\D/ })
  while ((await last.count()) === 0) {
    await page.mouse.wheel(0, 3000)
    await page.evaluate('new Promise(requestAnimationFrame)')
  }
  await last.focus()
  await page.keyboard.press('Control+a')
  await page.getByRole('toolbar', { name: `${CHANGED} selected` }).waitFor()
}

/** Chooses a priority, in the picker or in the dialog of older builds. Returns when. */
async function choose(page: Page, { isOld }: Side, name: string): Promise<number> {
  if (isOld) {
    const option = page.getByRole('dialog').getByRole('button', { name, exact: true })
    await option.waitFor()
    const begun = performance.now()
    await option.click()
    return begun
  }
  await page.getByRole('listbox').waitFor()
  await page.keyboard.type(name)
  const begun = performance.now()
  await page.keyboard.press('Enter')
  return begun
}

type Pair = [ours: number[], old: number[]]

/** Measures both sides in turn. The first round is not counted, because it is cold. */
async function inTurn(rounds: number, sides: Sides, measure: (side: Side) => Promise<number>): Promise<Pair> {
  const found: Pair = [[], []]
  for (let round = 0; round < rounds; round++)
    for (const [i, side] of [...sides.entries()]) {
      const figure = await measure(side)
      if (round > 0) found[i]?.push(figure)
    }
  return found
}

async function sumOf<T>(items: readonly T[], size: (item: T) => Promise<number>): Promise<number> {
  let sum = 0
  for (const item of items) sum += await size(item)
  return sum
}

const totalOf = (received: readonly Transfer[]): number => received.reduce((sum, { bytes }) => sum + bytes, 0)
const isScript = ({ path }: Transfer): boolean => path.startsWith('/web/') && path.endsWith('.js')

const row = (what: string, [ours, old]: Pair, unit: string, most: number): Row => ({
  what: `${what}, against an older build`,
  ours: `${median(ours).toFixed(median(ours) < 10 ? 2 : 0)} ${unit}`.trim(),
  against: `older ${median(old).toFixed(median(old) < 10 ? 2 : 0)} ${unit}`.trim(),
  ratio: ratioOf(ours, old),
  bar: { most },
})
