import { type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../../action.ts'
import { member } from '../../../auth/policy.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { and } from '../../../db/conditions.ts'
import { openCondition } from '../../../records/open.ts'
import * as projects from '../../projects/rows.ts'
import { filtersOf, hasAnyStatus } from '../lists/filters.ts'
import { requireVisible } from '../lists/lists.ts'
import { selectItems, toItem, visibleTo, withProject } from '../rows.ts'
import { taskDependencies, tasks } from '../table.ts'
import type { GraphQuery, TaskGraph } from './graph-schema.ts'

/** Maximum of connections in a graph: more than a screen can show, and few enough for one response. */
const MOST_EDGES = 2000

/**
 * Returns the connections of a project's tasks, and the tasks at both ends that the caller sees. With filters: the
 * connections where at least one task matches.
 */
export const getGraph = read(
  'tasks.graph',
  member('tasks:read'),
  async (ctx, { ref, open, kind, ...filters }: GraphQuery & { ref: string }): Promise<TaskGraph> => {
    const { id: projectId } = await projects.findProject(ctx, ref)
    await requireVisible(ctx, filters)
    const matching = Object.values(filters).some((value) => value !== undefined)
      ? sql`select ${tasks.id} from ${withProject} where ${and(
          ...(await filtersOf(ctx, { ...filters, projectId })),
          hasAnyStatus(filters.status),
        )}`
      : undefined
    const tied = (end: SQL) => sql`select d.blocked_by_id as "from", d.task_id as "to", d.kind, d.created_at
      from ${tasks} t join ${taskDependencies} d on ${end} = t.id
      where t.project_id = ${projectId} and t.deleted_at is null ${kind ? sql`and d.kind = ${kind}` : sql``}
        ${matching ? sql`and t.id in (${matching})` : sql``}`
    const { rows } = await ctx.db.execute<TaskGraph['edges'][number]>(sql`
      ${tied(sql`d.task_id`)} union ${tied(sql`d.blocked_by_id`)}
      order by 4 desc, 2, 1 limit ${MOST_EDGES + 1}`)
    const edges = rows.slice(0, MOST_EDGES)
    const nodes = await nodesOf(ctx, edges, { open, matching })
    const seen = new Set(nodes.map(({ id }) => id))
    return {
      nodes,
      edges: edges
        .filter(({ from, to }) => seen.has(from) && seen.has(to))
        .map(({ from, to, kind }) => ({ from, to, kind })),
      complete: rows.length <= MOST_EDGES,
    }
  },
)

async function nodesOf(
  ctx: Ctx,
  edges: readonly TaskGraph['edges'][number][],
  { open, matching }: { open: boolean | undefined; matching: SQL | undefined },
): Promise<TaskGraph['nodes']> {
  if (edges.length === 0) return []
  const ids = [...new Set(edges.flatMap(({ from, to }) => [from, to]))]
  const found =
    matching && (await ctx.db.execute<{ id: string }>(sql`${matching} and ${anyOf(tasks.id, idList(ids))}`)).rows
  const matched = found && new Set(found.map(({ id }) => id))
  const rows = await selectItems(ctx)
    .where(and(anyOf(tasks.id, idList(ids)), openCondition(tasks.status, open), visibleTo(rightsOf(ctx.actor))))
    .orderBy(tasks.position, tasks.id)
  return rows.map((row) => {
    const { id, projectId, key, title, status, priority, assignee, estimate, dueAt } = toItem(row, ctx.now)
    const node = { id, projectId, key, title, status, priority, assignee, estimate, dueAt }
    return matched ? { ...node, matches: matched.has(id) } : node
  })
}
