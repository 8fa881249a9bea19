/**
 * Prints how long hybrid search takes among 10,000 memories of a hundred teams, against one exact read of the team's own by index, and
 * among 100,000 of one team. The query's vector is there beforehand; vectors and texts are made up, some words being far more common.
 */
import { contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { anonymous } from '../../src/auth/actor.ts'
import { loadConfig } from '../../src/config.ts'
import { newId, vectorText } from '../../src/db/columns.ts'
import { openDatabase } from '../../src/db/index.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import { type Hit, searchHybrid } from '../../src/features/search/hybrid.ts'
import { createLog } from '../../src/log.ts'

const TEAMS = 100
const [few = '10000', many = '100000', runs = '600'] = process.argv.slice(2)
const config = loadConfig()
const log = createLog('error')
const driver = await openDatabase(config, log)
const app = await createApp(config, { driver, background: false, log })
const query = (text: string, params: unknown[] = []) => driver.query(text, params, { timeout: 0 })
const model = app.embedder.id

const person = async () => {
  const { user } = await accounts.addUser(contextOf(app, anonymous), {
    email: `${newId()}@example.com`,
    name: 'Bench',
    passwordHash: 'none',
    role: 'user',
  })
  const actor = await app.auth.actorFor(user.id)
  return { ctx: contextOf(app, actor), organizationId: actor.organizationId as string }
}

const bell = (): number => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
const direction = (): Float32Array => Float32Array.from({ length: app.embedder.dimensions }, bell)
const topics = Array.from({ length: 12 }, direction)
const near = (): Float32Array => {
  const topic = topics[Math.floor(Math.random() * topics.length)] as Float32Array
  const noise = direction()
  return topic.map((value, i) => value + 0.8 * (noise[i] as number))
}
const word = (): string => `word${Math.floor(4000 * Math.random() ** 3)}`
const words = (n: number): string => Array.from({ length: n }, word).join(' ')

/** From a thousand made-up vectors and texts, combined: making each would take longer than all that is measured. */
async function remember(organizationId: string, count: number): Promise<void> {
  const step = 2000
  for (let from = 0; from < count; from += step)
    await query(
      `with fresh as (
        insert into passages (id, kind, record_id, organization_id, chunk, title, content, tags, importance, at)
        select gen_random_uuid(), 'memory', gen_random_uuid(), $1::uuid, 0, '', a.content || ' ' || b.content, '{}', 0.5, now()
        from generate_series(1, $2::int) g (i) join bases a on a.n = (g.i * 17 + $3::int / 3) % 1000 join bases b on b.n = (g.i * 7 + $3::int) % 1000
        returning id),
      made as (
        select f.id, l2_normalize(a.vector + b.vector) as vector
        from (select id, floor(random() * 1000) as a, floor(random() * 1000) as b from fresh offset 0) f
        join bases a on a.n = f.a join bases b on b.n = f.b),
      kept as (insert into passage_vectors select id, $4, vector from made)
      insert into passage_signs select id, $4, $1::uuid, binary_quantize(vector) from made`,
      [organizationId, Math.min(step, count - from), from, model],
    )
}

interface Timed {
  p50: number
  p95: number
}
const timed = (all: number[]): Timed => {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] as number) * 100) / 100
  return { p50: at(0.5), p95: at(0.95) }
}
async function once(work: () => Promise<unknown>, into: number[]): Promise<void> {
  const started = performance.now()
  await work()
  into.push(performance.now() - started)
}

const exact = (organizationId: string, vector: Float32Array) =>
  query(
    `select p.record_id from passages p join passage_vectors v on v.passage_id = p.id and v.model = $2
     where p.organization_id = $1 order by v.vector <=> $3::vector limit 10`,
    [organizationId, model, vectorText(vector)],
  )
const ask = (ctx: typeof one.ctx, text: string, values: Float32Array): Promise<Hit[]> =>
  searchHybrid(ctx, { text, kinds: ['memory'], limit: 10 }, { model, values })

async function recall({ ctx, organizationId }: typeof one, n: number): Promise<number> {
  let same = 0
  for (let i = 0; i < n; i++) {
    const vector = near()
    const right = new Set((await exact(organizationId, vector)).rows.map(([id]) => id))
    for (const { recordId } of await ask(ctx, '', vector)) if (right.has(recordId)) same++
  }
  return same / (10 * n)
}

await driver.exec('create table bases (n int primary key, vector vector not null, content text not null)')
for (let n = 0; n < 1000; n++)
  await query('insert into bases values ($1, $2::vector, $3)', [n, vectorText(near()), words(20)])

const one = await person()
await remember(one.organizationId, Number(few) / TEAMS)
for (let i = 1; i < TEAMS; i++) {
  const id = newId()
  await query(
    `insert into organizations (id, created_at, updated_at, name, slug, settings) values ($1::uuid, now(), now(), 'Other', $1::text, '{}')`,
    [id],
  )
  await remember(id, Number(few) / TEAMS)
}
await driver.exec('analyze passages; analyze passage_vectors; analyze passage_signs')

const times = { exact: [] as number[], hybrid: [] as number[], large: [] as number[] }
/** Each of the pool's connections plans a statement anew the first few times. */
const WARM = 200
for (let i = 0; i < WARM + Number(runs); i++) {
  // In turn, so that a busy moment of the machine hits both.
  const measured = i >= WARM
  const vector = near()
  await once(() => exact(one.organizationId, vector), measured ? times.exact : [])
  await once(() => ask(one.ctx, words(5), vector), measured ? times.hybrid : [])
}
const recallOfFew = await recall(one, 50)

const other = await person()
await remember(other.organizationId, Number(many))
await driver.exec('analyze passages; analyze passage_vectors; analyze passage_signs')
for (let i = 0; i < 5 + Number(runs) / 4; i++) {
  const vector = near()
  await once(() => ask(other.ctx, words(5), vector), i >= 5 ? times.large : [])
}
const recallOfMany = Number(many) > 0 ? await recall(other, 10) : 1
console.log(
  JSON.stringify({
    exact: timed(times.exact),
    hybrid: timed(times.hybrid),
    recall: recallOfFew,
    large: timed(times.large),
    recallOfMany,
  }),
)
await app.close()
process.exit(0)
