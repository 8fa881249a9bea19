import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { prepare } from '../../db/session.ts'
import { hook } from '../../hooks.ts'
import { passages } from '../search/table.ts'
import { type Found, lookUp } from './records.ts'
import type { LinkedRecord } from './schema.ts'
import { links } from './table.ts'

export type LinkedRow = Pick<LinkedRecord, 'type' | 'id' | 'kind' | 'direction'> & {
  /** Seconds since 1970, for the order. */
  at: number
}

/** Returns links that records of other features keep themselves. The newest come first, `most` of them at most. */
export const ownLinks = hook<{ id: string; organizationId: string | null; most: number }, LinkedRow[]>('links.ownLinks')

const MOST = 50

const value = (name: string) => sql.placeholder(name)
const naming = sql`union all select p.kind, p.record_id, 'mentions', 'from', max(p.at) from ${passages} p
  where p.organization_id = ${value('organizationId')} and p.kind in ('decision', 'spec', 'memory', 'note', 'feature')
    and p.search @@ phraseto_tsquery('english', ${value('words')})
    and (p.title || ' ' || p.content) ~* ${value('whole')} and (p.expires_at is null or p.expires_at > ${value('now')})
  group by p.kind, p.record_id`
const select = (more: SQL) =>
  prepare((db) =>
    db
      .select({
        type: sql<LinkedRow['type']>`found.type`,
        id: sql<string>`found.id`,
        kind: sql<LinkedRow['kind']>`found.kind`,
        direction: sql<LinkedRow['direction']>`found.direction`,
        at: sql<number>`extract(epoch from found.at)::float8`.mapWith(Number),
      })
      .from(sql`(
        select to_type as type, to_id as id, kind, 'to' as direction, created_at as at from ${links} where from_id = ${value('id')}
        union all select from_type, from_id, kind, 'from', created_at from ${links} where to_id = ${value('id')}
        ${more}) found`)
      .orderBy(sql`found.kind = 'mentions', found.at desc, found.id`)
      .limit(MOST * 2),
  )
const [linked, linkedOrNamed] = [select(sql``), select(naming)]

/** What is only mentioned comes last, then the newest first. */
const inOrder = (a: LinkedRow, b: LinkedRow): number =>
  Number(a.kind === 'mentions') - Number(b.kind === 'mentions') || b.at - a.at || (a.id < b.id ? -1 : 1)

/**
 * For a record that shows what it is linked with, newest first: the links of both directions, the notes that name it among their own
 * links, and what names it in its text by its key. Mostly there is nothing, and that costs two short queries.
 */
export async function linkedWith(
  ctx: Ctx,
  { id, organizationId, key }: { id: string; organizationId: string | null; key?: string },
): Promise<LinkedRecord[]> {
  const stored = await (key
    ? linkedOrNamed(ctx.db, {
        id,
        organizationId,
        words: key.replace('-', ' '),
        whole: `\\m${key}\\M`,
        now: ctx.now,
      })
    : linked(ctx.db, { id }))
  const kept = await ownLinks.call(ctx, { id, organizationId, most: MOST * 2 })
  const rows = [...stored, ...kept.flat()].sort(inOrder).slice(0, MOST * 2)
  if (rows.length === 0) return []
  const ends = new Map<string, Found>()
  for (const [type, list] of Map.groupBy(rows, (row) => row.type))
    for (const end of await lookUp(ctx, type, [...new Set(list.map((row) => row.id))])) ends.set(end.id, end)
  const told = new Set<string>()
  return rows
    .flatMap(({ id: other, kind, direction }) => {
      const end = ends.get(other)
      const link = `${other} ${kind} ${direction}`
      // What is linked need not be told to mention it as well.
      if (!end || told.has(link) || (kind === 'mentions' && told.has(other))) return []
      told.add(other).add(link)
      return [{ type: end.type, id: end.id, title: end.title, path: end.path, kind, direction }]
    })
    .slice(0, MOST)
}
