import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, flow, read, write } from '../../../action.ts'
import { machine } from '../../../auth/policy.ts'
import { meta } from '../../../db/table.ts'
import { advancePosition, hasWriters, type Position } from '../../../events/position.ts'
import {
  currentPosition,
  type EventChange,
  isForeignPosition,
  readChanges,
  resolveHoles,
} from '../../../events/reader.ts'
import { projectColumn, type SearchKind } from '../../../records/kind.ts'
import type { SearchName } from '../../../records/names.ts'
import { LOWEST_ID } from '../../../records/sync.ts'
import type { App } from '../../../services.ts'
import { passages } from '../table.ts'
import { type Pacing, runPaced } from './pacing.ts'
import { dropPassages, putPassages, type Searchable } from './passages.ts'
import { hasOwner, isLive, loadRecords } from './source.ts'

/**
 * Keeps passages in step with the records, after their writes. It reads the events from a position that is stored in
 * the same transaction as the work, so a crash loses nothing and repeats nothing.
 */
const POSITION = 'search.position'
/** Limits of events and passages per transaction: on the embedded database all others wait meanwhile. */
const EVENTS = 50
const PIECES = 400
/** Rows per read, most of which do not concern search. */
const ROWS = 500

const followedKind = ({ app }: Ctx, kind: string | undefined): SearchKind | undefined =>
  app.records.followed.find((record) => record.kind === kind)

/** One instance does the work; the others wait and then find nothing left to do. */
const lockIndexing = (ctx: Ctx) =>
  ctx.db.execute(sql`select pg_advisory_xact_lock(hashtextextended('search.index', 0))`)

export async function readPosition(ctx: Ctx): Promise<Position | undefined> {
  const [kept] = await ctx.db.select().from(meta).where(eq(meta.key, POSITION))
  return kept && (JSON.parse(kept.value) as Position)
}

async function storePosition(ctx: Ctx, position: Position): Promise<void> {
  const value = JSON.stringify(await resolveHoles(ctx.db, position))
  await ctx.db.insert(meta).values({ key: POSITION, value }).onConflictDoUpdate({ target: meta.key, set: { value } })
}

/**
 * Returns the event types that may outdate passages of these kinds; default: of all. The nightly comparison covers
 * events of other server versions.
 */
export function followedEvents(
  { events: catalogue, records }: App,
  which: (kind: string) => boolean = () => true,
): string[] {
  const kinds = new Set<string>(records.followed.map(({ kind }) => kind).filter(which))
  return catalogue.types(({ kind, many }) => many === true || kinds.has(kind))
}

type State = 'unknown' | 'behind' | 'waiting' | 'done'

/** `waiting`: nothing is left to do, but a running transaction may still commit an event with a lower number. */
const indexState = read('search.state', machine, async (ctx, _: Record<string, never>): Promise<State> => {
  let from = await readPosition(ctx)
  if (!from || (await isForeignPosition(ctx.db, from))) return 'unknown'
  const types = new Set(followedEvents(ctx.app))
  for (;;) {
    const rows = await readChanges(ctx.db, from, ROWS)
    // Rows that do not concern search also advance the position, so that later reads skip them.
    if (rows.length === ROWS || rows.some(({ type }) => types.has(type))) return 'behind'
    const reached: Position = await resolveHoles(ctx.db, advancePosition(from, seqsOf(rows), true))
    if (hasWriters(reached)) return 'waiting'
    if (reached.holes.length === 0) return 'done'
    // The writers of these gaps have ended. The next read shows whether they committed.
    from = reached
  }
})

const seqsOf = (rows: readonly EventChange[]): number[] => rows.map(({ seq }) => seq)

/** Sets the position to now and starts a full comparison; events report later changes. */
const beginFollowing = write(
  'search.begin',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    await lockIndexing(ctx)
    await storePosition(ctx, await currentPosition(ctx.db))
    ctx.enqueue({ name: 'search.compare', data: {}, key: 'all' })
  },
  { bookkeeping: true },
)

const followSome = write(
  'search.follow',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    await lockIndexing(ctx)
    const from = await readPosition(ctx)
    if (!from) return
    const types = new Set(followedEvents(ctx.app))
    const rows = await readChanges(ctx.db, from, ROWS)
    const isFollowed = rows.map(({ type }) => types.has(type))
    if (rows.length < ROWS && !isFollowed.includes(true)) return
    for (let limit = EVENTS; ; limit = Math.floor(limit / 2)) {
      let some = 0
      // The first row beyond the limit; negative if all are within.
      const end = isFollowed.findIndex((yes) => yes && some++ === limit)
      const taken = end < 0 ? rows : rows.slice(0, end)
      const changes = taken.filter(({ type }) => types.has(type))
      const touched = new Map<SearchKind, Set<string>>()
      for (const { type, subjectId } of changes) {
        const source = followedKind(ctx, ctx.app.events.get(type)?.kind)
        if (source && subjectId) touched.set(source, (touched.get(source) ?? new Set()).add(subjectId))
      }
      for (const { type, projectId, at } of changes)
        if (ctx.app.events.get(type)?.creates && projectId) await addCreated(ctx, touched, projectId, at)
      if (!(await indexRecords(ctx, touched, limit > 1 ? PIECES : Number.POSITIVE_INFINITY))) continue
      const projectIds = new Set(
        changes.flatMap(({ type, projectId }) => (ctx.app.events.get(type)?.many && projectId ? projectId : [])),
      )
      for (const projectId of projectIds) ctx.enqueue({ name: 'search.compare', data: { projectId }, key: projectId })
      return storePosition(ctx, advancePosition(from, seqsOf(taken), end < 0 && rows.length < ROWS))
    }
  },
  { bookkeeping: true },
)

const MOST_CREATED = 1000

/** Adds the records of a project that one event created, such as the tasks of a plan. */
async function addCreated(
  ctx: Ctx,
  touched: Map<SearchKind, Set<string>>,
  projectId: string,
  at: string,
): Promise<void> {
  for (const source of ctx.app.records.followed) {
    const project = projectColumn(source)
    if (!project) continue
    const { table } = source
    const rows = await ctx.db
      .select({ id: sql<string>`${table.id}` })
      .from(table as PgTable)
      .where(and(eq(project, projectId), eq(table.updatedAt, at), isLive(source)))
      .limit(MOST_CREATED)
    if (rows.length > 0)
      touched.set(source, (touched.get(source) ?? new Set()).union(new Set(rows.map(({ id }) => id))))
  }
}

/** Returns false and does nothing if the work is too much for one transaction. */
async function indexRecords(
  ctx: Ctx,
  touched: ReadonlyMap<SearchKind, ReadonlySet<string>>,
  most: number,
): Promise<boolean> {
  const found: { source: SearchKind; ids: ReadonlySet<string>; records: Searchable[] }[] = []
  for (const [source, ids] of touched) found.push({ source, ids, records: await loadRecords(ctx, source, [...ids]) })
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

/** Progress of a pass over one kind: first records that may lack passages, then passages whose record may be gone. */
interface Progress {
  kind: string
  projectId?: string
  of: 'records' | 'passages'
  after: string
}

const LOOKED_AT = 500

/**
 * Returns one page of a pass, by ids; each row is looked up on the other side by index. Without pages and `offset 0`
 * the planner, which has no statistics for tables that have just grown, would compare everything with everything.
 */
const readDifferences = read(
  'search.differing',
  machine,
  async (ctx, { kind, projectId, of, after }: Progress): Promise<[id: string, differs: boolean][]> => {
    const source = followedKind(ctx, kind) as SearchKind
    const { table } = source
    const seenThrough = projectColumn(source)
    if (projectId && !seenThrough) return []
    const within = (column: SQL | undefined): SQL | undefined => (projectId ? sql`${column} = ${projectId}` : undefined)
    const page =
      of === 'records'
        ? sql`select ${table.id} as id, ${table.updatedAt} as at, ${table.organizationId} as owner from ${table}
          where ${and(isLive(source), hasOwner(source), within(sql`${seenThrough}`), sql`${table.id} > ${after}::uuid`)}
          order by ${table.id}`
        : sql`select ${passages.recordId} as id from ${passages}
          where ${and(
            eq(passages.kind, kind as SearchName),
            eq(passages.chunk, 0),
            within(sql`${passages.projectId}`),
            sql`${passages.recordId} > ${after}::uuid`,
          )}
          order by ${passages.recordId}`
    const other =
      of === 'records'
        ? sql`select 1 from ${passages} where ${passages.kind} = ${kind} and ${passages.recordId} = page.id
            and ${passages.chunk} = 0
          and ${passages.at} = page.at and ${passages.organizationId} is not distinct from page.owner`
        : sql`select 1 from ${table} where ${and(sql`${table.id} = page.id`, isLive(source))}`
    const { rows } = await ctx.db.execute<{ id: string; differs: boolean }>(sql`
    select page.id, there.yes is null as differs from (${page} limit ${LOOKED_AT}) page
    left join lateral (select true as yes from (${other} offset 0) one) there on true order by page.id`)
    return rows.map(({ id, differs }) => [id, differs])
  },
)

/** Indexes as many of these records as fit into one transaction, and returns how many. */
const indexThese = write(
  'search.indexThese',
  machine,
  async (ctx, { kind, ids }: { kind: string; ids: string[] }): Promise<number> => {
    await lockIndexing(ctx)
    const source = followedKind(ctx, kind) as SearchKind
    for (let limit = EVENTS; ; limit = Math.floor(limit / 2))
      if (
        await indexRecords(
          ctx,
          new Map([[source, new Set(ids.slice(0, limit))]]),
          limit > 1 ? PIECES : Number.POSITIVE_INFINITY,
        )
      )
        return limit
  },
  { bookkeeping: true },
)

/** For changes that no single event names: a first start with old records, a plan, a moved or deleted project. */
export const compareAllRecords = flow(
  'search.compare',
  machine,
  async (ctx, { projectId, ...way }: Pacing & { projectId?: string }): Promise<void> => {
    for (const { kind } of ctx.app.records.followed)
      for (const of of ['records', 'passages'] as const)
        for (let after: string | undefined = LOWEST_ID; after && !way.signal?.aborted; ) {
          const page: [string, boolean][] = await runPaced(way, () =>
            readDifferences(ctx, { kind, projectId, of, after: after as string }),
          )
          let ids = page.flatMap(([id, differs]) => (differs ? id : []))
          while (ids.length > 0 && !way.signal?.aborted)
            ids = ids.slice(await runPaced(way, () => indexThese(ctx, { kind, ids })))
          after = page.length === LOOKED_AT ? page.at(-1)?.[0] : undefined
        }
  },
)

/** Indexes everything that has happened until now. */
export const catchUp = flow('search.catchUp', machine, async (ctx, way: Pacing): Promise<'done' | 'waiting'> => {
  while (!way.signal?.aborted) {
    const at = await indexState(ctx, {})
    if (at === 'done' || at === 'waiting') return at
    if (at === 'unknown') await beginFollowing(ctx, {})
    else await runPaced(way, () => followSome(ctx, {}))
  }
  return 'done'
})
