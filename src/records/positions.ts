import { eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { and } from '../db/conditions.ts'
import type { Db } from '../db/session.ts'
import { invalid, notFound } from '../errors.ts'
import { defineEvent } from '../events/catalogue.ts'
import type { Emitter } from '../events/emit.ts'
import type { Records } from './kind.ts'
import { emitChanged } from './synced-changes.ts'

/** A table whose rows have a position among their siblings. */
type Ordered = PgTable & Record<'id' | 'position' | 'version' | 'updatedAt' | 'deletedAt', PgColumn>

/** What moving rows needs of a write: a `Ctx` has it. */
interface Call extends Emitter {
  readonly app: { readonly records: Records }
  readonly db: Db
  readonly now: string
}

interface Row {
  table: Ordered
  /** The condition for the siblings of the row. */
  siblings: SQL
  project: { projectId: string; organizationId: string }
}

/** Returns the position of the last sibling. Counts deleted ones too: they may be restored. */
export async function lastPosition(ctx: Call, table: Ordered, siblings: SQL): Promise<number> {
  const [row] = await ctx.db
    .select({ last: sql<number | null>`max(${table.position})` })
    .from(table as PgTable)
    .where(siblings)
  return Number(row?.last ?? 0)
}

/**
 * Returns a position after a sibling (null: first), halfway to the next one, so that no other row moves. After some
 * fifty moves into the same gap no number is left in it: then all siblings are renumbered. The caller holds the
 * project's lock (`lockProject`).
 */
export async function positionAfterSibling(ctx: Call, row: Row, own: string, after: string | null): Promise<number> {
  if (after === own) throw invalid('/after', 'A record cannot be placed after itself.')
  const others = and(row.siblings, isNull(row.table.deletedAt), ne(row.table.id, own))
  const between = await gap(ctx, row.table, others, after)
  if (between !== undefined) return between
  await numberAnew(ctx, row, others)
  return (await gap(ctx, row.table, others, after)) as number
}

async function gap(ctx: Call, table: Ordered, others: SQL, after: string | null): Promise<number | undefined> {
  const first = async (where: SQL | undefined) => {
    const [found] = await ctx.db
      .select({ id: sql<string>`${table.id}`, position: sql`${table.position}`.mapWith(Number) })
      .from(table as PgTable)
      .where(and(others, where))
      .orderBy(table.position, table.id)
      .limit(1)
    return found
  }
  const low = after === null ? undefined : await first(eq(table.id, after))
  if (after !== null && !low) throw notFound('sibling', after)
  const high = await first(low && sql`(${table.position}, ${table.id}) > (${low.position}::float8, ${low.id}::uuid)`)
  if (!low) return (high?.position ?? 2) - 1
  if (!high) return low.position + 1
  const middle = (low.position + high.position) / 2
  return middle > low.position && middle < high.position ? middle : undefined
}

/** Defined here, because the feature `projects`, which lists it among its events, imports this file. */
export const projectReordered = defineEvent('project.reordered', {
  kind: 'project',
  changes: 'visibility',
  live: true,
  many: true,
  description: 'Records of a project were renumbered without changing their order',
})

async function numberAnew(ctx: Call, { table, project }: Row, others: SQL): Promise<void> {
  const { rows } = await ctx.db.execute<{
    id: string
  }>(sql`update ${table} set position = ranked.n, version = version + 1, updated_at = ${ctx.now}
    from (select id as ranked_id, row_number() over (order by position, id) as n from ${table} where ${others}) ranked
    where ${table.id} = ranked.ranked_id returning ${table.id} as id`)
  const kind = ctx.app.records.all.find((record) => record.table.id === table.id)?.kind
  const ids = rows.map(({ id }) => id)
  if (kind) emitChanged(ctx, kind, project, ids)
  ctx.emit(projectReordered, { subjectId: project.projectId, ...project })
}
