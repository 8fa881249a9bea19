import { eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyRights, rightsOf } from '../../auth/rights.ts'
import { toIso } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { prepare } from '../../db/session.ts'
import { isId } from '../../records/reference.ts'
import type { UserOrAgent } from '../../records/user-or-agent.ts'
import { projects } from '../projects/table.ts'
import { epics, stories } from '../stories/table.ts'
import type { Blocker } from './dependencies/blocker-schema.ts'
import { assigneeParty, leaseParty, toParty } from './parties.ts'
import { type FoundTask, findWithProject, foundColumns, toFound, visibleTo } from './rows.ts'
import type { Comment, Related, TaskDetail, TaskEvidence, WaitsFor } from './schema.ts'
import { taskComments, taskDependencies, taskEvidence, tasks } from './table.ts'

const id = sql.placeholder('id')
/** How many blockers a refusal names. */
const MOST_BLOCKERS = 20
const nameColumns = sql`${tasks.id}, ${projects.key} || '-' || ${tasks.number} as key, ${tasks.title}, ${tasks.status}`
const inProject = sql`join ${projects} on ${projects.id} = ${tasks.projectId}`
/** Completion notes, cut. get_task returns the whole text. */
const notes = sql`case when ${tasks.status} = 'done' then left(${tasks.completionNotes}, 2000)
  || case when length(${tasks.completionNotes}) > 2000 then '…' else '' end end`
/** Returns rows as one JSON text, which every driver reads in the same way. */
const asList = (rows: SQL): SQL<string> =>
  sql<string>`coalesce((select json_agg(r) from (${rows}) r), '[]'::json)::text`

/** SQL for who works on an open blocker of the task, as JSON; null for other relations. */
const blockerWorkers = sql`case when d.task_id = ${id} and d.kind = 'blocks'
    and ${tasks.status} not in ('done', 'cancelled') then json_build_object(
  'assignee', json_build_array(${tasks.assigneeType}, ${tasks.assigneeId}, ${assigneeParty}),
  'holder', json_build_array(${tasks.leaseType}, ${tasks.leaseHolderId}, ${leaseParty}),
  'since', ${tasks.leaseSince}::text, 'until', ${tasks.leaseExpiresAt}::text) end`

/** Relations, parts, comments and evidence of a task in one statement: with few rows, each further query costs more. */
const surroundings = {
  ties: asList(sql`select d.task_id = ${id} as ahead, d.kind, ${nameColumns}, ${notes} as "completionNotes",
      ${blockerWorkers} as workers
    from ${taskDependencies} d
    join ${tasks} on ${tasks.id} = case when d.task_id = ${id} then d.blocked_by_id else d.task_id end ${inProject}
    where (d.task_id = ${id} or d.blocked_by_id = ${id}) and ${visibleTo(anyRights)}
    order by ${projects.key}, ${tasks.number} limit 200`),
  parts: asList(sql`select ${nameColumns} from ${tasks} ${inProject}
    where ${tasks.parentId} = ${id} and ${visibleTo(anyRights)} order by ${tasks.position}, ${tasks.id} limit 100`),
  place: sql<string | null>`(select json_build_object(
      'story', case when s.id is not null then json_build_object('id', s.id, 'title', s.title) end,
      'epic', case when e.id is not null then json_build_object('id', e.id, 'title', e.title) end,
      'parent', case when p.id is not null then json_build_object('id', p.id,
        'key', (select k.key from ${projects} k where k.id = p.project_id) || '-' || p.number,
        'title', p.title, 'status', p.status) end)::text
    from ${tasks} t left join ${stories} s on s.id = t.story_id left join ${epics} e on e.id = s.epic_id
      left join ${tasks} p on p.id = t.parent_id and p.deleted_at is null where t.id = ${id})`,
  comments: asList(sql`select c.id, c.task_id as "taskId", c.body, c.asks, c.version,
      c.created_at::text as "createdAt", c.edited_at::text as "editedAt",
      json_build_object('type', c.author_type, 'id', c.author_id, 'name', c.author_name) as author
    from ${taskComments} c where c.task_id = ${id} order by c.created_at desc, c.id desc limit 20`),
  evidence: asList(sql`select e.id, e.level, e.evidence, e.created_at::text as "createdAt",
      json_build_object('type', e.actor_type, 'id', e.actor_id, 'name', e.actor_name) as actor
    from ${taskEvidence} e where e.task_id = ${id} order by e.created_at desc, e.id desc limit 20`),
}

const selectSurroundings = prepare((db) => db.select(surroundings).from(sql`(select 1) one`))

/** Selects a task together with its surroundings. */
const selectTaskInFull = prepare((db) =>
  db
    .select({ ...foundColumns(anyRights), near: surroundings })
    .from(tasks)
    .innerJoin(projects, eq(projects.id, tasks.projectId))
    .where(and(eq(tasks.id, id), visibleTo(anyRights))),
)

type TaskPlace = Pick<TaskDetail, 'story' | 'epic' | 'parent'>
type TaskSurroundings = TaskPlace &
  Pick<TaskDetail, 'waitsFor' | 'frees' | 'related' | 'subtasks' | 'comments' | 'evidence'>

const oldestFirst = <T extends { createdAt: string }>(newestFirst: T[]): T[] =>
  newestFirst.reverse().map((one) => ({ ...one, createdAt: toIso(one.createdAt) }))

interface Surroundings {
  near: TaskSurroundings
  /** The open tasks that it waits for. */
  blockers: readonly Blocker[]
}

/** Returns a task's relations and parts that the caller sees, its last comments and its evidence. */
async function findSurroundings(ctx: Ctx, taskId: string): Promise<Surroundings> {
  const [found] = await selectSurroundings(ctx.db, { id: taskId, ...rightsOf(ctx.actor) })
  if (!found) throw new Error('a select without a table gave no row')
  return toSurroundings(found, ctx.now)
}

/** Finds a task together with its surroundings: by its id in one statement. */
export async function findInFull(ctx: Ctx, ref: string): Promise<{ found: FoundTask } & Surroundings> {
  const [row] = isId(ref)
    ? await selectTaskInFull(ctx.db, { id: ref.trim().toLowerCase(), ...rightsOf(ctx.actor) })
    : []
  if (row) {
    const { near, ...found } = row
    return { found: toFound(found, ctx.now), ...toSurroundings(near, ctx.now) }
  }
  // For another reference, or to explain why no task has this id.
  const found = await findWithProject(ctx, ref)
  return { found, ...(await findSurroundings(ctx, found.task.id)) }
}

type PartyFacts = [UserOrAgent['type'] | null, string | null, string | null]
interface Tie extends WaitsFor {
  ahead: boolean
  workers: { assignee: PartyFacts; holder: PartyFacts; since: string | null; until: string | null } | null
}

const partyIn = ([type, id, json]: PartyFacts): UserOrAgent | null => (type && json ? toParty(type, id, json) : null)

const toBlockers = (ties: readonly Tie[], now: string): Blocker[] =>
  ties
    .filter(({ workers }) => workers)
    .slice(0, MOST_BLOCKERS)
    .flatMap(({ key, title, workers }) => {
      if (!workers) return []
      const { since, until } = workers
      const isHeld = until !== null && toIso(until) > now
      const held = isHeld ? { holder: partyIn(workers.holder), heldSince: since && toIso(since) } : undefined
      return [{ key, title, assignee: partyIn(workers.assignee), ...(held ?? { holder: null, heldSince: null }) }]
    })

function toSurroundings(found: Awaited<ReturnType<typeof selectSurroundings>>[number], now: string): Surroundings {
  const ties = JSON.parse(found.ties) as Tie[]
  const those = (passes: (tie: Tie) => boolean): Related[] =>
    ties.filter(passes).map(({ ahead: _, workers: __, completionNotes: ___, ...tie }) => tie)
  const near = {
    waitsFor: ties
      .filter(({ kind, ahead }) => kind === 'blocks' && ahead)
      .map(({ ahead: _, workers: __, ...tie }) => tie),
    frees: those(({ kind, ahead }) => kind === 'blocks' && !ahead),
    related: those(({ kind }) => kind !== 'blocks'),
    subtasks: JSON.parse(found.parts) as TaskSurroundings['subtasks'],
    comments: oldestFirst(JSON.parse(found.comments) as Comment[]).map((comment) => ({
      ...comment,
      editedAt: comment.editedAt && toIso(comment.editedAt),
    })),
    evidence: oldestFirst(JSON.parse(found.evidence) as TaskEvidence[]),
    ...(JSON.parse(found.place ?? '{"story":null,"epic":null,"parent":null}') as TaskPlace),
  }
  return { near, blockers: toBlockers(ties, now) }
}
