/**
 * Prints, as JSON, how search by meaning compares with sqlite-vec among many passages of one team: `bun
 * test/bench/vectors.ts COUNT RUNS`, with the database in the environment. Both search the same vectors in turn. A
 * vector is a mean, a topic, a subject and three of a thousand details, so each subject has a thousand neighbours that
 * lie close together, and no two vectors are equal. A hit counts for recall if it is as near as the tenth of an exact
 * scan, since hits of equal distance are equally good.
 */
import { Database } from 'bun:sqlite'
import { join, resolve } from 'node:path'
import { type Ctx, contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { anonymous, system } from '../../src/auth/actor.ts'
import { loadConfig } from '../../src/config.ts'
import { newId, vectorText } from '../../src/db/columns.ts'
import { openDatabase } from '../../src/db/index.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import * as projects from '../../src/features/projects/service.ts'
import { searchHybrid } from '../../src/features/search/hybrid.ts'
import { indexLargeOwners } from '../../src/features/search/large-owners.ts'
import { whenVectorsLoaded } from '../../src/features/search/vector-cache.ts'
import { createLog } from '../../src/log.ts'
import { installInto } from '../full/install.ts'

const [COUNT = 100_000, RUNS = 60] = process.argv.slice(2).map(Number)
const DIMENSIONS = 384
const BEST = 10
/** One project has one of this many passages; the others are in no project. */
const SHARE = 100
const PARTS = { topic: 40, subject: 100, detail: 1000 }

/** Mulberry32: equal numbers in every run. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
const random = randomFrom(13)
const bell = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
/** Some directions vary more than others, as in vectors of texts. */
const direction = (weight: number): Float32Array =>
  Float32Array.from({ length: DIMENSIONS }, (_, i) => weight * (1 + i) ** -0.35 * bell())

const mean = direction(0.6)
const topics = Array.from({ length: PARTS.topic }, () => direction(0.8))
const subjects = Array.from({ length: PARTS.subject }, (_, i) => {
  const topic = topics[i % PARTS.topic] as Float32Array
  return direction(0.7).map((value, j) => value + (topic[j] as number) + (mean[j] as number))
})
const details = Array.from({ length: PARTS.detail }, () => direction(0.35))

type Recipe = [subject: number, ...details: [number, number, number]]
const upTo = (n: number): number => Math.floor(n * random())
const recipe = (): Recipe => [upTo(PARTS.subject), upTo(PARTS.detail), upTo(PARTS.detail), upTo(PARTS.detail)]
function vectorOf([subject, ...parts]: Recipe): Float32Array {
  const sum = Float32Array.from(subjects[subject] as Float32Array)
  for (const part of parts)
    for (const [i, value] of (details[part] as Float32Array).entries()) sum[i] = (sum[i] as number) + value
  const length = Math.sqrt(sum.reduce((total, value) => total + value * value, 0))
  return sum.map((value) => value / length)
}

const config = loadConfig()
const log = createLog('error')
const driver = await openDatabase(config, log)
const app = await createApp(config, { driver, background: false, log })
const query = (text: string, params: unknown[] = []) => driver.query(text, params, { timeout: 0 })
const model = app.embedder.id

async function createTeam(): Promise<{ ctx: Ctx; organizationId: string; projectId: string }> {
  const { user } = await accounts.addUser(contextOf(app, anonymous), {
    email: `${newId()}@example.com`,
    name: 'Bench',
    passwordHash: 'none',
    role: 'user',
  })
  const actor = await app.auth.actorFor(user.id)
  const ctx = contextOf(app, actor)
  const project = await projects.create(ctx, { name: 'Bench' })
  return { ctx, organizationId: actor.organizationId as string, projectId: project.id }
}

/** The database adds the parts up itself: sending each vector as text would take most of the time. */
async function fill(organizationId: string, projectId: string): Promise<{ ids: string[]; vectors: Float32Array }> {
  await driver.exec('create table parts (kind text, n int, vector vector not null, primary key (kind, n))')
  for (const [kind, list] of Object.entries({ subject: subjects, detail: details }))
    for (const [n, vector] of list.entries())
      await query('insert into parts values ($1, $2, $3::vector)', [kind, n, vectorText(vector)])
  const ids: string[] = []
  const vectors = new Float32Array(COUNT * DIMENSIONS)
  const STEP = 1000
  for (let from = 0; from < COUNT; from += STEP) {
    const recipes = Array.from({ length: STEP }, recipe)
    const some = recipes.map((made, i) => {
      vectors.set(vectorOf(made), (from + i) * DIMENSIONS)
      return newId()
    })
    ids.push(...some)
    const column = (i: number) => `{${recipes.map((made) => made[i]).join(',')}}`
    await query(
      `with made as (
        select m.id, m.n, l2_normalize(s.vector + a.vector + b.vector + c.vector) as vector
        from unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::int[]) with ordinality m (id, s, a, b, c, n)
        join parts s on s.kind = 'subject' and s.n = m.s join parts a on a.kind = 'detail' and a.n = m.a
        join parts b on b.kind = 'detail' and b.n = m.b join parts c on c.kind = 'detail' and c.n = m.c),
      fresh as (
        insert into passages (id, kind, record_id, organization_id, project_id, chunk, title, content, tags, importance, at)
        select id, 'memory', id, $6::uuid, case when n % ${SHARE} = 0 then $7::uuid end, 0, '', 'word' || n, '{}', 0.5, now()
        from made),
      kept as (insert into passage_vectors select id, $8, vector from made)
      insert into passage_signs select id, $8, $6::uuid, binary_quantize(vector) from made`,
      [`{${some.join(',')}}`, ...[0, 1, 2, 3].map(column), organizationId, projectId, model],
    )
  }
  await driver.exec('analyze passages; analyze passage_vectors; analyze passage_signs')
  return { ids, vectors }
}

/** Exact search in memory and on one thread, as the package offers it; the project is a metadata column. */
async function openPeer(vectors: Float32Array) {
  const name = `sqlite-vec-linux-${process.arch}`
  await installInto('sqlite-vec', { [name]: '0.1.9' })
  const db = new Database(':memory:')
  db.loadExtension(join(resolve(import.meta.dir, '../../.cache/sqlite-vec/node_modules'), name, 'vec0'))
  db.run(
    `create virtual table passages using vec0(project integer, vector float[${DIMENSIONS}] distance_metric=cosine)`,
  )
  const insert = db.prepare('insert into passages (rowid, project, vector) values (?, ?, ?)')
  db.transaction(() => {
    for (let i = 0; i < COUNT; i++)
      insert.run(i + 1, (i + 1) % SHARE === 0 ? 1 : 0, vectors.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS))
  })()
  const all = db.prepare(`select rowid from passages where vector match ? and k = ${BEST}`)
  const some = db.prepare(`select rowid from passages where vector match ? and k = ${BEST} and project = 1`)
  return (vector: Float32Array, filtered: boolean): unknown => (filtered ? some : all).all(vector)
}

/** Returns the similarity of each passage, and of the tenth best of those that count. */
function exact(vectors: Float32Array, asked: Float32Array, filtered: boolean): { cosine: Float32Array; tenth: number } {
  const cosine = new Float32Array(COUNT)
  for (let i = 0, at = 0; i < COUNT; i++) {
    let sum = 0
    for (let j = 0; j < DIMENSIONS; j++) sum += (vectors[at++] as number) * (asked[j] as number)
    cosine[i] = sum
  }
  const counted = filtered ? cosine.filter((_, i) => (i + 1) % SHARE === 0) : cosine
  return { cosine, tenth: counted.toSorted().at(-BEST) as number }
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number
async function timed<T>(into: number[], work: () => T | Promise<T>): Promise<T> {
  const started = performance.now()
  const done = await work()
  into.push(performance.now() - started)
  return done
}

const { ctx, organizationId, projectId } = await createTeam()
const { ids, vectors } = await fill(organizationId, projectId)
const place = new Map(ids.map((id, i) => [id, i]))
const ofPeer = await openPeer(vectors)

const search = (values: Float32Array, filtered: boolean) =>
  searchHybrid(ctx, { text: '', kinds: ['memory'], limit: BEST, ...(filtered && { projectId }) }, { model, values })

/** Until connections have planned their statements. */
const WARM = 10
async function measure(filtered: boolean): Promise<{ ours: number; peer: number; recall: number }> {
  const times = { ours: [] as number[], peer: [] as number[] }
  let good = 0
  for (let run = 0; run < RUNS + WARM; run++) {
    const asked = vectorOf(recipe())
    const counted = run >= WARM
    const hits = await timed(counted ? times.ours : [], () => search(asked, filtered))
    await timed(counted ? times.peer : [], () => ofPeer(asked, filtered))
    const { cosine, tenth } = exact(vectors, asked, filtered)
    if (counted) good += hits.filter((hit) => (cosine[place.get(hit.recordId) ?? -1] ?? -1) >= tenth - 1e-5).length
  }
  return { ours: median(times.ours), peer: median(times.peer), recall: good / (RUNS * BEST) }
}

const before = process.memoryUsage().rss
const cold: number[] = []
await timed(cold, () => search(vectorOf(recipe()), false))
const loading: number[] = []
await timed(loading, () => whenVectorsLoaded(app))
const grown = process.memoryUsage().rss - before
const all = await measure(false)
const filtered = await measure(true)

/** After the nightly job, which builds an index for an owner of this size and uses it if it finds enough. */
async function measureIndexed() {
  const building: number[] = []
  await timed(building, () => indexLargeOwners(contextOf(app, system), { above: COUNT / 2, queries: 20 }))
  const { rows } = await query('select state, ef_search, recall from vector_indexes')
  const [state, efSearch, checked] = rows[0] ?? []
  return { ...(await measure(false)), seconds: (building[0] as number) / 1000, state, efSearch, checked }
}
const indexed = driver.kind === 'postgres' ? await measureIndexed() : undefined
console.log(JSON.stringify({ cold: cold[0], loading: loading[0], megabytes: grown / 2 ** 20, all, filtered, indexed }))
await app.close()
process.exit(0)
