import { and, eq, inArray, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import { claimed, type Holder, holderOf } from './leases.ts'
import { find, openBlockers, selectItems, toItem, visibleTo } from './rows.ts'
import type { NextTask, Task, TaskNext } from './schema.ts'
import { taskDependencies, tasks } from './table.ts'

/** Which task to do next, and why: the one place where that is decided. */

const waiters = sql<number>`(select count(*) from ${taskDependencies} d join ${tasks} w on w.id = d.task_id
  where d.blocked_by_id = ${tasks.id} and d.kind = 'blocks' and w.deleted_at is null and w.status not in ('done', 'cancelled'))`
const urgency = sql`case ${tasks.priority} when 'critical' then 0 when 'high' then 1 when 'medium' then 2 else 3 end`
/** What somebody began and left comes before what is planned, and that before what is only an idea. */
const stage = sql`case ${tasks.status} when 'in_progress' then 0 when 'todo' then 1 else 2 end`

interface Search {
  projectId?: string
  holder: Holder
}

const scopeOf = (ctx: Ctx, projectId: string | undefined): SQL =>
  and(
    visibleTo(rightsOf(ctx.actor)),
    eq(projectTable.status, 'active'),
    projectId ? eq(tasks.projectId, projectId) : eq(tasks.organizationId, currentOrganization(ctx.actor)),
  ) as SQL

const candidates = (ctx: Ctx, { projectId, holder }: Search): SQL =>
  and(
    scopeOf(ctx, projectId),
    or(
      // An abandoned one may be anybody's now; others only if they are nobody's or one's own.
      and(eq(tasks.status, 'in_progress'), lt(tasks.leaseExpiresAt, ctx.now)),
      and(
        inArray(tasks.status, ['todo', 'backlog']),
        or(isNull(tasks.leaseExpiresAt), lt(tasks.leaseExpiresAt, ctx.now)),
        or(isNull(tasks.assigneeId), and(eq(tasks.assigneeType, holder.type), eq(tasks.assigneeId, holder.id))),
      ),
    ),
    sql`${openBlockers} is null`,
  ) as SQL

const order = (holder: Holder): SQL[] => [
  sql`${tasks.assigneeId} is distinct from ${holder.id}::uuid`,
  stage,
  urgency,
  sql`${tasks.dueAt} nulls last`,
  sql`${waiters} desc`,
  sql`${tasks.position}`,
  sql`${tasks.id}`,
]

/** Takes it in the statement that picks it: of many agents at once, each gets another one. */
async function take(ctx: Ctx, search: Search, minutes: number | undefined): Promise<string | undefined> {
  const pick = ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(candidates(ctx, search))
    .orderBy(...order(search.holder))
    .limit(1)
    .for('update', { of: tasks, skipLocked: true })
  const [row] = await ctx.db
    .update(tasks)
    .set(claimed(search.holder, ctx.now, minutes))
    .where(sql`${tasks.id} = (${pick})`)
    .returning({ id: tasks.id })
  return row?.id
}

async function look(ctx: Ctx, search: Search): Promise<string | undefined> {
  const [row] = await selectItems(ctx)
    .where(candidates(ctx, search))
    .orderBy(...order(search.holder))
    .limit(1)
  return row?.id
}

export async function pickNext(ctx: Ctx, { projectId, claim, minutes, ...who }: TaskNext): Promise<NextTask> {
  const search = { projectId, holder: await holderOf(ctx, currentOrganization(ctx.actor), who) }
  const [{ n }] = (await ctx.db
    .select({ n: sql<number>`count(*)::int` })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(candidates(ctx, search))) as [{ n: number }]
  const before = await look(ctx, search)
  const id = claim === false ? before : before && (await take(ctx, search, minutes))
  if (!id) return { task: null, ...(await whyNone(ctx, search)) }
  const task = await find(ctx, id)
  return { task, why: await why(ctx, task, n, search.holder), waiting: [] }
}

async function why(ctx: Ctx, task: Task, ready: number, holder: Holder): Promise<string> {
  const others = await ctx.db
    .select({ key: projectTable.key, number: tasks.number })
    .from(taskDependencies)
    .innerJoin(
      tasks,
      and(eq(tasks.id, taskDependencies.taskId), isNull(tasks.deletedAt), ne(tasks.status, 'done'), ne(tasks.status, 'cancelled')),
    )
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(and(eq(taskDependencies.blockedById, task.id), eq(taskDependencies.kind, 'blocks')))
    .orderBy(tasks.number)
    .limit(5)
  return [
    task.assignee?.id === holder.id && task.startedAt === null ? 'assigned to you' : undefined,
    `${task.priority} priority${ready > 1 ? `, first of ${ready} ready tasks` : ', the only ready task'}`,
    task.dueAt ? `due ${task.dueAt.slice(0, 10)}` : undefined,
    others.length > 0 ? `${others.map((o) => `${o.key}-${o.number}`).join(', ')} wait${others.length === 1 ? 's' : ''} for it` : undefined,
  ]
    .filter(Boolean)
    .join('; ')
}

/** Nothing to do must be explained, or agents ask again and again. */
async function whyNone(ctx: Ctx, { projectId }: Search): Promise<Omit<NextTask, 'task'>> {
  const rows = await selectItems(ctx)
    .where(and(scopeOf(ctx, projectId), inArray(tasks.status, ['todo', 'backlog', 'in_progress', 'blocked', 'in_review'])))
    .orderBy(urgency, tasks.position, tasks.id)
    .limit(10)
  const waiting = rows.map((row) => {
    const { key, title, status, blockedBy, lease, assignee } = toItem(row, ctx.now)
    const reason = lease
      ? `${lease.holder.name} works on it until ${lease.expiresAt}`
      : blockedBy.length > 0
        ? `waits for ${blockedBy.join(', ')}`
        : assignee
          ? `assigned to ${assignee.name}`
          : status === 'in_review'
            ? 'waits for a review'
            : `is ${status}`
    return { key, title, reason }
  })
  const where = projectId ? 'this project' : 'your organization'
  const text =
    waiting.length === 0
      ? `There is no open task in ${where}. Make one with create_task or create_plan.`
      : `No task in ${where} can be started now: ${waiting
          .map((w) => `${w.key} ${w.reason}`)
          .slice(0, 3)
          .join('; ')}.`
  return { why: text, waiting }
}

export const next = write(
  'tasks.next',
  member('tasks:write'),
  async (ctx, input: TaskNext & { projectRef?: string }): Promise<NextTask> => {
    const { projectRef, ...rest } = input
    const named = projectRef ?? rest.projectId ?? ctx.actor.projectId ?? undefined
    const projectId = named ? (await projects.resolve(ctx, named)).id : undefined
    const answer = await pickNext(ctx, { ...rest, projectId })
    if (answer.task && rest.claim !== false)
      ctx.emit('task.claimed', {
        subjectId: answer.task.id,
        organizationId: answer.task.organizationId,
        projectId: answer.task.projectId,
        data: { key: answer.task.key, title: answer.task.title, status: answer.task.status, holder: answer.task.lease?.holder },
      })
    return answer
  },
)
