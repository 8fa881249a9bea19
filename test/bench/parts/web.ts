import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { median, type Part, type Row, ratioOf } from '../part.ts'
import { inPage, launchBrowser, open, signedIn } from '../visits.ts'
import { compareDashboards } from '../web-builds.ts'
import { type Office, openOffice } from '../web-data.ts'

/** The rows of the page that the dashboard is compared with. */
const PLAIN_ROWS = 200

/**
 * The dashboard in front of 10,000 tasks, 500 notes and 50,000 events: CPU time of the page's main thread until it is
 * ready, against a React page of 200 rows in the same round, and how much it asks for and mounts.
 */
export const part: Part = async function* (bench) {
  const office = await openOffice()
  const plain = await servePlain()
  const browser = await launchBrowser()
  try {
    const found = { plain: [] as number[], home: [] as number[], board: [] as number[], move: [] as number[] }
    // The first round is cold for all sides, so it is not counted.
    for (let round = 0; round <= bench.rounds; round++) {
      const [bare, home, board] = [
        await inPage(browser, (page) => open(page, plain.url.href, 'main tr')),
        await signedIn(browser, office, (page) => open(page, `${office.url}/`, 'main h1')),
        await signedIn(browser, office, (page) => openBoard(page, office)),
      ]
      if (round === 0) continue
      found.plain.push(bare.cpu)
      found.home.push(home.cpu)
      found.board.push(board.cpu)
      found.move.push(board.after)
    }
    yield row('CPU of the home page', found.home, found.plain, 1.2)
    yield row('CPU of a board of 200 cards', found.board, found.plain, 1.8)
    yield row('CPU of moving a card', found.move, found.plain, 0.15)
    yield* amounts(browser, office)
  } finally {
    await browser.close()
    await plain.stop(true)
    await office.close()
  }
  yield* compareDashboards(bench)
}

const row = (what: string, ours: number[], plain: number[], most: number): Row => ({
  what,
  ours: `${median(ours).toFixed(0)} ms`,
  against: `React page of 200 rows ${median(plain).toFixed(0)} ms`,
  ratio: ratioOf(ours, plain),
  bar: { most },
})

/** Requests and mounted rows do not depend on the machine. */
async function* amounts(browser: Browser, office: Office): AsyncGenerator<Row> {
  const project = `/projects/${office.slug}`
  for (const [path, shown] of [
    ['/', 'main h1'],
    [project, 'main .counts'],
    [`${project}/tasks`, 'main .tcard'],
    [`${project}/tasks?view=list`, 'main .li'],
    ['/notes', 'main .li'],
    ['/activity', 'main .frow'],
  ] as const) {
    let asked: string[] = []
    let mounted = 0
    await signedIn(browser, office, async (page) => {
      page.on('request', (request) => asked.push(new URL(request.url()).pathname))
      asked = []
      await open(page, office.url + path, shown)
      mounted = await page.locator('main :is(.li, .frow, .prow)').count()
      return undefined
    })
    const calls = asked.filter((name) => name.startsWith('/api/')).length
    const files = asked.filter((name) => /^\/(web|fonts|assets)\//.test(name)).length
    const place = path.replace(office.slug, '…')
    yield { what: `API requests of ${place}`, ours: String(calls), value: calls, bar: { most: 8 } }
    yield { what: `static files of ${place}`, ours: String(files), value: files, bar: { most: 12 } }
    yield { what: `mounted rows of ${place}`, ours: String(mounted), value: mounted, bar: { most: 40 } }
  }
}

async function openBoard(page: Page, { url, slug }: Office): Promise<() => Promise<void>> {
  await open(page, `${url}/projects/${slug}/tasks`, 'main .tcard')
  const column = page.getByRole('region', { name: /^Todo,/ })
  // Before the measurement: looking for the card takes time of the page, which is not the dashboard's.
  await column
    .getByRole('link', { name: /^[A-Z]+-\d+ / })
    .first()
    .focus()
  return async () => {
    const saved = page.waitForResponse((answer) => answer.request().method() === 'PATCH')
    await page.keyboard.press('Alt+ArrowLeft')
    await saved
    await page.waitForLoadState('networkidle')
  }
}

async function servePlain() {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, '../plain-page.mjs')],
    target: 'browser',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const script = built.outputs[0]
  const rows = Array.from({ length: PLAIN_ROWS }, (_, n) => ({
    key: `LAN-${n}`,
    title: `Check the common part ${n}`,
    status: n % 2 ? 'todo' : 'done',
    at: new Date(Date.UTC(2026, 0, 1) + n * 86_400_000).toISOString(),
  }))
  const html = '<!doctype html><title>Plain</title><div id="root"></div><script type="module" src="/page.js"></script>'
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/': new Response(html, { headers: { 'content-type': 'text/html' } }),
      '/page.js': () => new Response(script, { headers: { 'content-type': 'text/javascript' } }),
      '/rows': () => Response.json(rows),
    },
    fetch: () => new Response(null, { status: 404 }),
  })
}
