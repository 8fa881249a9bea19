import { join } from 'node:path'
import { createApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import { newId } from '../../../src/db/columns.ts'
import { openDatabase } from '../../../src/db/index.ts'
import { siteSettings } from '../../../src/features/settings/table.ts'
import { siteTexts } from '../../../src/features/site/table.ts'
import { createLog } from '../../../src/log.ts'
import { type Bench, compare, type DatabaseName, median, type Part, type Row, ratioOf } from '../part.ts'
import { type Process, rate, start } from '../processes.ts'
import { emptyEnv, newFolder, serve } from '../world.ts'

const [FEW, MANY] = [100, 10_000]

/** A public page against the same bytes from a bare server; and a blog of 10,000 posts against one of 100. */
export const part: Part = async function* (bench) {
  for (const database of bench.databases) {
    const [few, many] = [await siteOf(database, FEW), await siteOf(database, MANY)]
    yield* page(bench, database, few)
    yield* growth(bench, database, few, many)
    await few.stop()
    await many.stop()
  }
}

/** Markdown of 20 KiB with what texts have: headings, lists, links, emphasis, code. */
function markdown(): string {
  const section = (n: number) =>
    [
      `## Part ${n}`,
      'We deploy **twice a day**, and *nobody* waits: see [how](https://example.com/how) and `tutti serve`.',
      '- build it\n- look at it\n- let it go',
      '```sh\ntutti serve --port 7400\n```',
    ].join('\n\n')
  let text = ''
  for (let n = 1; text.length < 20 << 10; n++) text += `${section(n)}\n\n`
  return text.slice(0, 20 << 10)
}

/** The compiled server with a page of 20 KiB and so many posts. */
async function siteOf(database: DatabaseName, posts: number): Promise<Process> {
  const env = { ...(await emptyEnv(database)), RATE_LIMIT_ANONYMOUS: '1000000', EMBEDDINGS: 'off' }
  const log = createLog('error')
  const config = loadConfig({ env })
  const app = await createApp(config, { driver: await openDatabase(config, log), log, background: false })
  const at = new Date(Date.now() - 86_400_000).toISOString()
  const text = (kind: 'page' | 'post', slug: string, n: number) => ({
    id: newId(),
    ...{ kind, slug, title: `How we deploy, part ${n}`, content: markdown(), excerpt: 'Twice a day.' },
    ...{ status: 'published' as const, tags: ['operations'], createdAt: at, updatedAt: at },
    publishedAt: new Date(Date.parse(at) - n * 60_000).toISOString(),
  })
  await app.db.insert(siteSettings).values({ key: 'blog', values: { enabled: true }, secrets: {}, updatedAt: at })
  await app.db.insert(siteTexts).values(text('page', 'how', 0))
  for (let n = 0; n < posts; n += 100)
    await app.db
      .insert(siteTexts)
      .values(Array.from({ length: 100 }, (_, i) => ({ ...text('post', `how-${n + i}`, n + i), content: 'Twice.' })))
  await app.driver.exec('analyze')
  await app.close()
  return serve(env)
}

async function* page(bench: Bench, database: string, site: Process): AsyncIterable<Row> {
  const url = `${site.url}/p/how`
  const response = await fetch(url)
  const { 'x-request-id': _, date: __, 'content-length': ___, ...headers } = Object.fromEntries(response.headers)
  const file = join(newFolder(), 'page.html')
  await Bun.write(file, await response.text())
  const bare = await start(
    [process.execPath, join(import.meta.dir, '../bare-page.ts'), file, JSON.stringify(headers)],
    {},
  )
  const found = await compare(bench, {
    ours: (seconds) => rate(url, seconds),
    bare: (seconds) => rate(bare.url, seconds),
  })
  await bare.stop()
  yield {
    what: `a public page of 20 KiB Markdown, ${database}`,
    ours: `${median(found.ours).toFixed(0)}/s`,
    against: `same bytes from Bun.serve ${median(found.bare).toFixed(0)}/s`,
    ratio: ratioOf(found.ours, found.bare),
    bar: { least: 0.7 },
  }
}

/** Pages stay in memory for a second, so each is asked for after more than that. */
const FORGOTTEN_MS = 1100

async function* growth(bench: Bench, database: string, few: Process, many: Process): AsyncIterable<Row> {
  for (const path of ['/blog', '/feed.xml', '/api/public/posts?limit=50']) {
    const found = { few: [] as number[], many: [] as number[] }
    for (let round = 0; round <= 3 * bench.rounds; round++) {
      await Bun.sleep(FORGOTTEN_MS)
      const sides = [
        ['few', few],
        ['many', many],
      ] as const
      for (const [name, site] of round % 2 ? sides.toReversed() : sides) {
        const time = await timeOf(site.url + path)
        // The first one of each plans its statements.
        if (round > 0) found[name].push(time)
      }
    }
    yield {
      what: `${path.split('?')[0]} of 10,000 posts, ${database}`,
      ours: `${median(found.many).toFixed(1)} ms`,
      against: `of 100 posts ${median(found.few).toFixed(1)} ms`,
      ratio: ratioOf(found.many, found.few),
      bar: { most: 2 },
    }
  }
  const unchanged = await Promise.all(
    ['/blog', '/feed.xml', '/sitemap.xml'].map((path) => isUnchanged(many.url + path)),
  )
  const share = unchanged.filter(Boolean).length
  yield {
    what: `304 of 10,000 posts where nothing changed, ${database}`,
    ours: `${share} of 3`,
    value: share,
    bar: { least: 3 },
  }
}

async function timeOf(url: string): Promise<number> {
  const started = performance.now()
  const response = await fetch(url)
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  return performance.now() - started
}

async function isUnchanged(url: string): Promise<boolean> {
  const first = await fetch(url)
  await first.arrayBuffer()
  const again = await fetch(url, { headers: { 'if-none-match': first.headers.get('etag') ?? '' } })
  return again.status === 304 && (await again.arrayBuffer()).byteLength === 0
}
