import { type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { prepareForms } from '../../db/session.ts'
import { mayRead } from '../../records/readable.ts'
import type { Priority, Status } from '../../records/task-states.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import { projects as projectTable } from '../projects/table.ts'
import { epics, stories } from '../stories/table.ts'
import { byAgent } from '../tasks/lists/progress.ts'
import { HIDDEN, keysIn, selectItems, toItem } from '../tasks/rows.ts'
import { taskCounts, taskDependencies, tasks } from '../tasks/table.ts'
import type { Tree, TreeEpic, TreeStory, TreeTask } from './schema.ts'

/** Returns the structure of a project, read in one query. */
export const getTree = read(
  'planning.tree',
  member('projects:read'),
  async (ctx, { ref }: { ref: string }): Promise<Tree> => buildTree(ctx, await projects.findProject(ctx, ref)),
)

/** Trees are built in memory, at about 6 µs per entry. */
const MOST_ENTRIES = 3500

/**
 * Returns the keys of the open tasks that each of these tasks waits for. A separate query: joined to the entries, a
 * planner with old statistics would run it once for every task.
 */
async function blockersOf(ctx: Ctx, ids: readonly string[]): Promise<Map<string, string[]>> {
  if (ids.length === 0) return new Map()
  const { rows } = await ctx.db.execute<{ task_id: string; blockers: string }>(sql`
    select d.task_id,
      string_agg(coalesce(p.key || '-' || b.number, ${HIDDEN}), ',' order by p.key, b.number) as blockers
    from ${tasks} w
      join ${taskDependencies} d on d.task_id = w.id and d.kind = 'blocks'
      join ${tasks} b on b.id = d.blocked_by_id and b.deleted_at is null and b.status not in ('done', 'cancelled')
        and b.organization_id = w.organization_id
      left join (select ${projectTable.id}, ${projectTable.key} from ${projectTable}
        where ${projects.visibleTo(rightsOf(ctx.actor))}) p on p.id = b.project_id
    where w.id = any(${idList(ids)}::uuid[]) group by d.task_id`)
  return new Map(rows.map((row) => [row.task_id, keysIn(row.blockers)]))
}

/** Returns who these tasks are assigned to and who holds them. */
async function assigneesAndLeases(
  ctx: Ctx,
  ids: readonly string[],
): Promise<Map<string, Pick<TreeTask, 'assignee' | 'lease'>>> {
  if (ids.length === 0) return new Map()
  const rows = await selectItems(ctx).where(anyOf(tasks.id, idList(ids)))
  return new Map(
    rows.map((row) => {
      const { id, assignee, lease } = toItem(row, ctx.now)
      return [id, { assignee, lease }]
    }),
  )
}

const projectId = sql.placeholder('projectId')
const column = <T>(name: string) => sql<T>`entries.${sql.identifier(name)}`

/**
 * Reads the first entries, each kind in the order of its index, so that a large project is not sorted as a whole.
 * `some`: only chosen epics with their stories and tasks.
 */
const selectEntries = prepareForms((db, { some }: { some: boolean }) => {
  const chosen = (of: SQL) => (some ? sql`and ${of} = any(${sql.placeholder('only')}::uuid[])` : sql``)
  const first = sql`order by position, id limit ${MOST_ENTRIES}`
  const inChosen = sql`and t.story_id in (select id from ${stories} where deleted_at is null ${chosen(sql`epic_id`)})`
  return db
    .select({
      kind: column<0 | 1 | 2>('kind'),
      id: column<string>('id'),
      parent: column<string | null>('parent'),
      title: column<string>('title'),
      status: column<Status>('status'),
      priority: column<Priority>('priority'),
      number: column<number | null>('number'),
      points: column<number | null>('points'),
      partOf: column<string | null>('part_of'),
      blocked: column<boolean>('blocked'),
      version: column<number>('version'),
      estimate: column<number | null>('estimate'),
      someone: column<boolean>('someone'),
      byAgent: column<boolean>('by_agent'),
    })
    .from(sql`(
      (select 0 as kind, id, null::uuid as parent, title, status, priority, null::int as number, null::int as points,
        null::uuid as part_of, false as blocked, version, null::int as estimate, false as someone,
        false as by_agent, position
        from ${epics} where project_id = ${projectId} and deleted_at is null ${chosen(sql`id`)} ${first})
      union all (select 1, id, epic_id, title, status, priority, null, points, null, false, version, null, false,
        false, position
        from ${stories} where project_id = ${projectId} and deleted_at is null ${chosen(sql`epic_id`)} ${first})
      union all (select 2, t.id, t.story_id, t.title, t.status, t.priority, t.number, null, t.parent_id,
          t.has_open_blockers, t.version, t.estimate,
          t.assignee_id is not null or t.lease_holder_id is not null, t.status = 'done' and ${byAgent}, t.position
        from ${tasks} t
        where t.project_id = ${projectId} and t.deleted_at is null ${some ? inChosen : sql``} ${first})
    ) entries`)
    .orderBy(sql`entries.kind, entries.position, entries.id`)
    .limit(MOST_ENTRIES)
})
type Entry = Awaited<ReturnType<typeof selectEntries>>[number]

/** Counts the epics, stories and tasks of a project. */
async function countEntries(ctx: Ctx, projectId: string): Promise<number> {
  const counts = [epics, stories].map(
    (table) => sql`(select count(*) from ${table} where project_id = ${projectId} and deleted_at is null)`,
  )
  const { rows } = await ctx.db.execute<{ n: number }>(sql`select (${sql.join(counts, sql` + `)}
    + coalesce((select sum(n) from ${taskCounts} where project_id = ${projectId}), 0))::int as n`)
  return rows[0]?.n ?? 0
}

/** Builds the tree of these epics only, or of the whole project. */
export async function buildTree(ctx: Ctx, project: Project, only?: readonly string[]): Promise<Tree> {
  const values = { projectId: project.id, only: only && idList(only) }
  const rows = await selectEntries(ctx.db, { some: only !== undefined }, values)
  const total = rows.length < MOST_ENTRIES ? rows.length : await countEntries(ctx, project.id)
  const blockers = await blockersOf(
    ctx,
    rows.flatMap(({ id, blocked }) => (blocked ? [id] : [])),
  )
  const parties = await assigneesAndLeases(
    ctx,
    rows.flatMap(({ id, someone }) => (someone ? [id] : [])),
  )
  const { id, key } = project
  // Epics, stories and tasks need the same scope. Without it, the tree only contains their number.
  const shown = mayRead(ctx, 'task') ? rows : []
  const found: Tree = {
    project: { id, ...projects.projectNamesFor(ctx, project), key },
    epics: [],
    tasks: [],
    left: Math.max(0, total - shown.length),
  }
  const epicsById = new Map<string, TreeEpic>()
  const storiesById = new Map<string, TreeStory>()
  // Rows are ordered epics, stories, tasks, so a parent always comes before its children.
  for (const entry of shown) {
    if (entry.kind === 0) epicsById.set(entry.id, { ...nodeOf(entry), stories: [] })
    else if (entry.kind === 1) {
      const story: TreeStory = { ...nodeOf(entry), points: entry.points, tasks: [] }
      storiesById.set(entry.id, story)
      epicsById.get(entry.parent as string)?.stories.push(story)
    } else {
      const story = entry.parent ? storiesById.get(entry.parent) : undefined
      ;(story ?? found).tasks.push(toTreeTask(entry, key, parties.get(entry.id), blockers.get(entry.id)))
    }
  }
  found.epics.push(...epicsById.values())
  return found
}

const nodeOf = ({ id, version, title, status, priority }: Entry) => ({ id, version, title, status, priority })

/** Names every field: a tree has thousands of tasks, and copying parts of objects takes longer than reading them. */
function toTreeTask(
  { id, version, title, status, priority, number, partOf, estimate, byAgent: isByAgent }: Entry,
  key: string,
  parties: Pick<TreeTask, 'assignee' | 'lease'> | undefined,
  blockedBy: string[] = [],
): TreeTask {
  const assignee = parties?.assignee ?? null
  const lease = parties?.lease ?? null
  const known = { id, version, title, status, priority, key: `${key}-${number}`, parentId: partOf, estimate }
  return isByAgent ? { ...known, assignee, lease, byAgent: true, blockedBy } : { ...known, assignee, lease, blockedBy }
}
