import { eq, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList, newId } from '../../db/columns.ts'
import { invalid } from '../../errors.ts'
import { nameChanged } from '../../records/changed.ts'
import { circleIn, wayTo } from '../../records/cycles.ts'
import { lastPosition } from '../../records/positions.ts'
import { mayRead } from '../../records/readable.ts'
import type { Priority, Status } from '../../records/work.ts'
import { requireOpenProject } from '../projects/refusals.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import { projects as projectTable } from '../projects/table.ts'
import { epics, stories } from '../stories/table.ts'
import { addDependencies, nameDependencies } from '../tasks/dependencies.ts'
import { takeNumbers } from '../tasks/places.ts'
import { byAgent } from '../tasks/progress.ts'
import { HIDDEN, keysIn, selectItems, toItem } from '../tasks/rows.ts'
import { taskCounts, taskDependencies, tasks } from '../tasks/table.ts'
import { planCreated } from './events.ts'
import type { PlanCreate, Tree, TreeEpic, TreeStory, TreeTask } from './schema.ts'

/** Returns the structure of a project, read in one query. */
export const tree = read(
  'planning.tree',
  member('projects:read'),
  async (ctx, { ref }: { ref: string }): Promise<Tree> => treeOf(ctx, await projects.find(ctx, ref)),
)

/** Trees are built in memory, and larger ones are of no use to readers. */
const MOST_ENTRIES = 5000

type Row = {
  kind: 0 | 1 | 2
  id: string
  parent: string | null
  title: string
  status: Status
  priority: Priority
  number: number | null
  points: number | null
  part_of: string | null
  blocked: boolean
  version: number
  estimate: number | null
  someone: boolean
  by_agent: boolean
}

/**
 * Returns the keys of the open tasks that each of these tasks waits for. A query of its own: joined to the entries, a
 * planner that knows little of tables that have just grown would run it once for every task.
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
async function partiesOf(ctx: Ctx, ids: readonly string[]): Promise<Map<string, Pick<TreeTask, 'assignee' | 'lease'>>> {
  if (ids.length === 0) return new Map()
  const rows = await selectItems(ctx).where(anyOf(tasks.id, idList(ids)))
  return new Map(
    rows.map((row) => {
      const { id, assignee, lease } = toItem(row, ctx.now)
      return [id, { assignee, lease }]
    }),
  )
}

/** Reads the first entries, each kind in the order of its index: a large project is not sorted as a whole. */
async function entriesOf(ctx: Ctx, projectId: string, only: readonly string[] | undefined): Promise<Row[]> {
  const chosen = (column: SQL) => (only ? sql`and ${column} = any(${idList(only)}::uuid[])` : sql``)
  const first = sql`order by position, id limit ${MOST_ENTRIES}`
  const { rows } = await ctx.db.execute<Row>(sql`select * from (
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
        where t.project_id = ${projectId} and t.deleted_at is null
          ${
            only
              ? sql`and t.story_id in (select id from ${stories} where deleted_at is null ${chosen(sql`epic_id`)})`
              : sql``
          } ${first})
    ) entries order by kind, position, id limit ${MOST_ENTRIES}`)
  return rows
}

/** Counts the epics, stories and tasks of a project. A plan, which is shown in part, never has so many. */
async function countEntries(ctx: Ctx, projectId: string): Promise<number> {
  const counts = [epics, stories].map(
    (table) => sql`(select count(*) from ${table} where project_id = ${projectId} and deleted_at is null)`,
  )
  const { rows } = await ctx.db.execute<{ n: number }>(sql`select (${sql.join(counts, sql` + `)}
    + coalesce((select sum(n) from ${taskCounts} where project_id = ${projectId}), 0))::int as n`)
  return rows[0]?.n ?? 0
}

/** Builds the tree of these epics only, or of the whole project. */
async function treeOf(ctx: Ctx, project: Project, only?: readonly string[]): Promise<Tree> {
  const rows = await entriesOf(ctx, project.id, only)
  const total = rows.length < MOST_ENTRIES ? rows.length : await countEntries(ctx, project.id)
  const blockers = await blockersOf(
    ctx,
    rows.flatMap(({ id, blocked }) => (blocked ? [id] : [])),
  )
  const parties = await partiesOf(
    ctx,
    rows.flatMap(({ id, someone }) => (someone ? [id] : [])),
  )
  const { id, key } = project
  // Epics, stories and tasks are read with one scope. Without it, the tree only says how many there are.
  const shown = mayRead(ctx, 'task') ? rows : []
  const found: Tree = {
    project: { id, ...projects.namesFor(ctx, project), key },
    epics: [],
    tasks: [],
    left: Math.max(0, total - shown.length),
  }
  const epicsById = new Map<string, TreeEpic>()
  const storiesById = new Map<string, TreeStory>()
  // Rows are ordered epics, stories, tasks, so a parent always comes before its children.
  for (const { kind, id, version, title, status, priority, parent, ...row } of shown) {
    const node = { id, version, title, status, priority }
    if (kind === 0) epicsById.set(id, { ...node, stories: [] })
    else if (kind === 1) {
      const story: TreeStory = { ...node, points: row.points, tasks: [] }
      storiesById.set(id, story)
      epicsById.get(parent as string)?.stories.push(story)
    } else {
      const task: TreeTask = {
        ...node,
        key: `${key}-${row.number}`,
        parentId: row.part_of,
        estimate: row.estimate,
        ...(parties.get(id) ?? { assignee: null, lease: null }),
        ...(row.by_agent && { byAgent: true }),
        blockedBy: blockers.get(id) ?? [],
      }
      const story = parent ? storiesById.get(parent) : undefined
      ;(story ?? found).tasks.push(task)
    }
  }
  found.epics.push(...epicsById.values())
  return found
}

/** Creates epics, stories, tasks and their dependencies, all or nothing. */
export const createPlan = write(
  'planning.createPlan',
  member('tasks:write'),
  async (ctx, { ref, ...plan }: PlanCreate & { ref: string }): Promise<Tree> => {
    const project = await projects.find(ctx, ref)
    requireOpenProject(ctx, project, 'Planning in this project')
    const flat = flatten(plan)
    checkSize(flat)
    const blockers = dependenciesOf(flat.tasks)
    if (blockers.length > 2000) throw invalid('/epics', 'A plan can have at most 2,000 dependencies.', 'too_many')
    const first = await takeNumbers(ctx, project.id, flat.tasks.length)
    const shared = {
      organizationId: project.organizationId,
      projectId: project.id,
      createdById: ctx.actor.userId,
      status: 'todo' as const,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    }
    const firstEpic = (await lastPosition(ctx, epics, eq(epics.projectId, project.id))) + 1
    const firstTask = (await lastPosition(ctx, tasks, eq(tasks.projectId, project.id))) + 1
    if (flat.epics.length > 0)
      await ctx.db.insert(epics).values(flat.epics.map((e, i) => ({ ...shared, ...e, position: firstEpic + i })))
    if (flat.stories.length > 0)
      await ctx.db.insert(stories).values(flat.stories.map((s, i) => ({ ...shared, ...s, position: i + 1 })))
    if (flat.tasks.length > 0)
      await ctx.db.insert(tasks).values(
        flat.tasks.map(({ ref: _, blockedBy: __, ...t }, i) => ({
          ...shared,
          ...t,
          number: first + i,
          position: firstTask + i,
        })),
      )
    nameDependencies(ctx, shared, await addDependencies(ctx, blockers))
    for (const [kind, rows] of Object.entries({ epic: flat.epics, story: flat.stories, task: flat.tasks }))
      nameChanged(
        ctx,
        kind,
        shared,
        rows.map(({ id }) => id),
      )
    ctx.emit(planCreated, {
      subjectId: project.id,
      organizationId: project.organizationId,
      projectId: project.id,
      data: { epics: flat.epics.length, stories: flat.stories.length, tasks: flat.tasks.length },
    })
    return treeOf(
      ctx,
      project,
      flat.epics.map(({ id }) => id),
    )
  },
)

type Flat = ReturnType<typeof flatten>
type FlatTask = Flat['tasks'][number]

function checkSize({ epics, stories, tasks }: Flat): void {
  if (epics.length + stories.length + tasks.length > 500)
    throw invalid(
      '/epics',
      'A plan can have at most 500 epics, stories and tasks. Create the rest with a second plan.',
      'too_many',
    )
}

/** Returns rows whose ids are chosen here, so that children can refer to their parents before anything is stored. */
function flatten({ epics: wanted }: PlanCreate) {
  const described = (d: { title: string; description?: string; priority?: Priority }) => ({
    id: newId(),
    title: d.title.trim(),
    description: d.description,
    priority: d.priority ?? ('medium' as const),
  })
  const epicRows = wanted.map((e) => ({ row: described(e), stories: e.stories ?? [] }))
  const storyRows = epicRows.flatMap(({ row, stories: list }) =>
    list.map((s) => ({ row: { ...described(s), epicId: row.id, points: s.points }, tasks: s.tasks ?? [] })),
  )
  const taskRows = storyRows.flatMap(({ row, tasks: list }) =>
    list.map((t) => ({
      ...described(t),
      storyId: row.id,
      labels: t.labels ?? [],
      estimate: t.estimate,
      acceptance: (t.acceptance ?? []).map((text) => ({ text, done: false })),
      ref: t.ref,
      blockedBy: t.blockedBy ?? [],
    })),
  )
  return { epics: epicRows.map((e) => e.row), stories: storyRows.map((s) => s.row), tasks: taskRows }
}

/** Returns the dependencies. Refs must be unique and known, and there must be no cycle. */
function dependenciesOf(list: FlatTask[]): { taskId: string; blockedById: string }[] {
  const byRef = new Map<string, FlatTask>()
  for (const task of list) {
    if (task.ref === undefined) continue
    if (byRef.has(task.ref))
      throw invalid('/epics', `Two tasks have the ref ${JSON.stringify(task.ref)}. Give each its own.`)
    byRef.set(task.ref, task)
  }
  const pairs = list.flatMap((task) =>
    task.blockedBy.map((ref) => {
      const blocker = byRef.get(ref)
      if (!blocker)
        throw invalid(
          '/epics',
          `"${task.title}" is blocked by ${JSON.stringify(ref)}, but no task of this plan has that ref.`,
        )
      return { task, blocker }
    }),
  )
  const edges = pairs.map(({ task, blocker }) => ({ from: task.id, to: blocker.id }))
  const circle = circleIn(edges)
  for (const task of circle ? list.filter(({ id }) => circle.has(id)) : []) {
    const starts = task.blockedBy.map((ref) => (byRef.get(ref) as FlatTask).id)
    const way = wayTo(task.id, starts, edges)
    if (way) throw invalid('/epics', `These tasks block each other: ${inWords(list, [task.id, ...way])}.`, 'cycle')
  }
  return pairs.map(({ task, blocker }) => ({ taskId: task.id, blockedById: blocker.id }))
}

const MOST_NAMED = 10

function inWords(list: FlatTask[], way: string[]): string {
  const titles = way.map((id) => list.find((task) => task.id === id)?.title as string)
  if (titles.length <= MOST_NAMED) return titles.join(' → ')
  return [...titles.slice(0, MOST_NAMED - 1), `… (${titles.length - MOST_NAMED} more)`, ...titles.slice(-1)].join(' → ')
}
