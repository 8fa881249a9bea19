import { eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../action.ts'
import { and } from '../db/conditions.ts'
import { invalid, notFound } from '../errors.ts'
import { projects } from '../features/projects/table.ts'
import type { epics, stories } from '../features/stories/table.ts'
import type { tasks } from '../features/tasks/table.ts'

type Ordered = typeof epics | typeof stories | typeof tasks

interface Row {
  table: Ordered
  /** Those among which it is put in order. */
  siblings: SQL
  project: { projectId: string; organizationId: string }
}

/** Whoever numbers or orders something in a project; a second one waits, and then sees what the first did. */
export const takeTurns = (ctx: Ctx, projectId: string): Promise<unknown> =>
  ctx.db.select({ id: projects.id }).from(projects).where(eq(projects.id, projectId)).for('no key update')

/** Of the last one, deleted ones included: they may come back. */
export async function lastPosition(ctx: Ctx, table: Ordered, siblings: SQL): Promise<number> {
  const [row] = await ctx.db
    .select({ last: sql<number | null>`max(${table.position})` })
    .from(table as typeof epics)
    .where(siblings)
  return Number(row?.last ?? 0)
}

/**
 * Behind a sibling (null: first), halfway to the next one, so that nobody else has to move. After some fifty moves into the same gap there
 * is no number left in it: then all are numbered anew.
 */
export async function positionBehind(ctx: Ctx, row: Row, own: string, after: string | null): Promise<number> {
  if (after === own) throw invalid('/after', 'It cannot stand behind itself.')
  await takeTurns(ctx, row.project.projectId)
  const others = and(row.siblings, isNull(row.table.deletedAt), ne(row.table.id, own))
  const between = await gap(ctx, row.table, others, after)
  if (between !== undefined) return between
  await numberAnew(ctx, row, others)
  return (await gap(ctx, row.table, others, after)) as number
}

async function gap(ctx: Ctx, table: Ordered, others: SQL, after: string | null): Promise<number | undefined> {
  const first = async (where: SQL | undefined) => {
    const [found] = await ctx.db
      .select({ id: table.id, position: table.position })
      .from(table as typeof epics)
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

async function numberAnew(ctx: Ctx, { table, project }: Row, others: SQL): Promise<void> {
  await ctx.db.execute(sql`update ${table} set position = ranked.n, version = version + 1, updated_at = ${ctx.now}
    from (select id as ranked_id, row_number() over (order by position, id) as n from ${table} where ${others}) ranked
    where ${table.id} = ranked.ranked_id`)
  ctx.emit('project.reordered', { subjectId: project.projectId, ...project })
}
