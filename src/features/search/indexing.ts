import { and, eq, type SQL, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { meta } from '../../db/table.ts'
import { isWaiting, type Position, positionNow, type Read, readSince } from '../../events/reader.ts'
import { projectOf, type SearchKind } from '../../records/kind.ts'
import type { SearchName } from '../../records/names.ts'
import type { App } from '../../services.ts'
import { dropPassages, putPassages, type Searchable } from './passages.ts'
import { live, load, owned } from './source.ts'
import { passages } from './table.ts'

/**
 * Keeps passages in step with the records, behind their writes: reads the events in the order in which they became final, from a place
 * that is kept in the transaction that does the work. Nothing is lost or done twice, however the server ends.
 */
const CURSOR = 'search.cursor'
/** Events in one transaction, and pieces of text: on the embedded database everybody else waits meanwhile. */
const EVENTS = 50
const PIECES = 400

const find = ({ app }: Ctx, kind: string | undefined): SearchKind | undefined =>
  app.records.followed.find((record) => record.kind === kind)

/** Of several instances one does the work; the others find it done. */
const takeTurns = (ctx: Ctx) => ctx.db.execute(sql`select pg_advisory_xact_lock(hashtextextended('search.index', 0))`)

async function position(ctx: Ctx): Promise<Position | undefined> {
  const [kept] = await ctx.db.select().from(meta).where(eq(meta.key, CURSOR))
  const [xid, seq] = kept?.value.split(' ') ?? []
  return xid && seq ? { xid, seq } : undefined
}

async function keepPosition(ctx: Ctx, { xid, seq }: Position): Promise<void> {
  const value = `${xid} ${seq}`
  await ctx.db.insert(meta).values({ key: CURSOR, value }).onConflictDoUpdate({ target: meta.key, set: { value } })
}

/** Types of the events after which passages may be out of date. What another version emits, the nightly comparison finds. */
export function followed({ events: catalogue, records }: App): string[] {
  const kinds = new Set<string>(records.followed.map(({ kind }) => kind))
  return catalogue.types(({ kind, many }) => many === true || kinds.has(kind))
}

const changesSince = (ctx: Ctx, from: Position, limit: number): Promise<Read[]> =>
  readSince(ctx.db, from, { limit, types: followed(ctx.app) })

type State = 'unknown' | 'behind' | 'waiting' | 'done'

/** `waiting`: there is more, but a transaction that began earlier is still running. */
export const state = read('search.state', machine, async (ctx, _: Record<string, never>): Promise<State> => {
  const from = await position(ctx)
  const waiting = from && (await isWaiting(ctx.db, from))
  if (!from || waiting === undefined) return 'unknown'
  if ((await changesSince(ctx, from, 1)).length > 0) return 'behind'
  return waiting ? 'waiting' : 'done'
})

/** Everything is compared, once; what comes after this moment is followed. */
const begin = write('search.begin', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  await takeTurns(ctx)
  await keepPosition(ctx, await positionNow(ctx.db))
  ctx.enqueue({ name: 'search.compare', data: {}, key: 'all' })
})

const followSome = write('search.follow', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  await takeTurns(ctx)
  const from = await position(ctx)
  if (!from) return
  for (let limit = EVENTS; ; limit = Math.floor(limit / 2)) {
    const changes = await changesSince(ctx, from, limit)
    const last = changes.at(-1)
    if (!last) return
    const touched = new Map<SearchKind, Set<string>>()
    for (const { type, subjectId } of changes) {
      const source = find(ctx, ctx.app.events.get(type)?.kind)
      if (source && subjectId) touched.set(source, (touched.get(source) ?? new Set()).add(subjectId))
    }
    if (!(await index(ctx, touched, limit > 1 ? PIECES : Number.POSITIVE_INFINITY))) continue
    const projectIds = new Set(
      changes.flatMap(({ type, projectId }) => (ctx.app.events.get(type)?.many && projectId ? projectId : [])),
    )
    for (const projectId of projectIds) ctx.enqueue({ name: 'search.compare', data: { projectId }, key: projectId })
    return keepPosition(ctx, last.position)
  }
})

/** False, with nothing done, when it would be too much at once. */
async function index(ctx: Ctx, touched: ReadonlyMap<SearchKind, ReadonlySet<string>>, most: number): Promise<boolean> {
  const found: { source: SearchKind; ids: ReadonlySet<string>; records: Searchable[] }[] = []
  for (const [source, ids] of touched) found.push({ source, ids, records: await load(ctx, source, [...ids]) })
  const characters = found.flatMap((f) => f.records).reduce((sum, { text }) => sum + text.length, 0)
  if (characters > most * 1000) return false
  let fresh = 0
  for (const { source, ids, records } of found) {
    const there = new Set(records.map((r) => r.recordId))
    fresh += (await putPassages(ctx, source.kind as SearchName, records)).length
    await dropPassages(
      ctx,
      source.kind as SearchName,
      [...ids].filter((id) => !there.has(id)),
    )
  }
  if (fresh > 0) ctx.enqueue({ name: 'search.embed', data: {}, key: 'all' })
  return true
}

/** Where a pass over all records of a kind stands: those first whose passages may lack, then passages whose record may be gone. */
interface Place {
  kind: string
  projectId?: string
  of: 'records' | 'passages'
  after: string
}

const FIRST = '00000000-0000-0000-0000-000000000000'
const LOOKED_AT = 500

/**
 * One page of a pass, by ids: each row of it is looked up at the other side by index. Without pages and `offset 0` the planner, who knows
 * little of tables that have just grown, compares everything with everything.
 */
const differing = read(
  'search.differing',
  machine,
  async (ctx, { kind, projectId, of, after }: Place): Promise<[id: string, differs: boolean][]> => {
    const source = find(ctx, kind) as SearchKind
    const { table } = source
    const seenThrough = projectOf(source)
    if (projectId && !seenThrough) return []
    const within = (column: SQL | undefined): SQL | undefined => (projectId ? sql`${column} = ${projectId}` : undefined)
    const page =
      of === 'records'
        ? sql`select ${table.id} as id, ${table.updatedAt} as at, ${table.organizationId} as owner from ${table}
          where ${and(live(source), owned(source), within(sql`${seenThrough}`), sql`${table.id} > ${after}::uuid`)} order by ${table.id}`
        : sql`select ${passages.recordId} as id from ${passages}
          where ${and(eq(passages.kind, kind as SearchName), eq(passages.chunk, 0), within(sql`${passages.projectId}`), sql`${passages.recordId} > ${after}::uuid`)}
          order by ${passages.recordId}`
    const other =
      of === 'records'
        ? sql`select 1 from ${passages} where ${passages.kind} = ${kind} and ${passages.recordId} = page.id and ${passages.chunk} = 0
          and ${passages.at} = page.at and ${passages.organizationId} is not distinct from page.owner`
        : sql`select 1 from ${table} where ${and(sql`${table.id} = page.id`, live(source))}`
    const { rows } = await ctx.db.execute<{ id: string; differs: boolean }>(sql`
    select page.id, there.yes is null as differs from (${page} limit ${LOOKED_AT}) page
    left join lateral (select true as yes from (${other} offset 0) one) there on true order by page.id`)
    return rows.map(({ id, differs }) => [id, differs])
  },
)

/** How many of these were done: as many as are not too much at once. */
const indexThese = write(
  'search.indexThese',
  machine,
  async (ctx, { kind, ids }: { kind: string; ids: string[] }): Promise<number> => {
    await takeTurns(ctx)
    const source = find(ctx, kind) as SearchKind
    for (let limit = EVENTS; ; limit = Math.floor(limit / 2))
      if (
        await index(
          ctx,
          new Map([[source, new Set(ids.slice(0, limit))]]),
          limit > 1 ? PIECES : Number.POSITIVE_INFINITY,
        )
      )
        return limit
  },
)

/** A tenth of the database at most: whoever waits for an answer comes first. */
export const PACE = 9

/** `pace`: how many times as long as a step took to leave the database to others before the next. */
interface Way {
  signal?: AbortSignal
  pace?: number
}

async function step<T>({ signal, pace = 0 }: Way, work: () => Promise<T>): Promise<T> {
  const started = performance.now()
  const done = await work()
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.min(2000, (performance.now() - started) * pace))
  signal?.addEventListener('abort', () => resolve(), { once: true })
  await promise
  clearTimeout(timer)
  return done
}

/** For what no single event names: a first start with records of old, a plan, a project that moved or went. */
export const compare = flow(
  'search.compare',
  machine,
  async (ctx, { projectId, ...way }: Way & { projectId?: string }): Promise<void> => {
    for (const { kind } of ctx.app.records.followed)
      for (const of of ['records', 'passages'] as const)
        for (let after: string | undefined = FIRST; after && !way.signal?.aborted; ) {
          const page: [string, boolean][] = await step(way, () =>
            differing(ctx, { kind, projectId, of, after: after as string }),
          )
          let ids = page.flatMap(([id, differs]) => (differs ? id : []))
          while (ids.length > 0 && !way.signal?.aborted)
            ids = ids.slice(await step(way, () => indexThese(ctx, { kind, ids })))
          after = page.length === LOOKED_AT ? page.at(-1)?.[0] : undefined
        }
  },
)

/** All that has happened until now. */
export const catchUp = flow('search.catchUp', machine, async (ctx, way: Way): Promise<'done' | 'waiting'> => {
  while (!way.signal?.aborted) {
    const at = await state(ctx, {})
    if (at === 'done' || at === 'waiting') return at
    if (at === 'unknown') await begin(ctx, {})
    else await step(way, () => followSome(ctx, {}))
  }
  return 'done'
})
