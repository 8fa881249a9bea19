import { desc, eq, gt, inArray, isNotNull, isNull, lte, not, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { isClosed, statuses } from '../../records/work.ts'
import { sameParty, speaker } from '../agents/parties.ts'
import { projectOf } from '../projects/current.ts'
import { requireOpenProject } from '../projects/refusals.ts'
import { projects as projectTable } from '../projects/table.ts'
import { taskClaimed } from './events.ts'
import { claimed, type Holder, holderOf, isLeasedTo, claim as renew } from './leases.ts'
import {
  about,
  find,
  HIDDEN,
  keysIn,
  keysInWords,
  openWaiters,
  parentIsBlocked,
  selectItems,
  toItem,
  visibleTo,
} from './rows.ts'
import type { Lease, NextTask, Task, TaskItem, TaskNext } from './schema.ts'
import { pickOrder, startable, tasks } from './table.ts'

/** Decides which task to do next, and why. No other code decides this. */

const open = statuses.filter((status) => !isClosed(status))
const [assignee, urgency, ...others] = pickOrder(tasks)
const byUrgency = [urgency, ...others]

const isUnheld = (now: string): SQL => or(isNull(tasks.leaseExpiresAt), lte(tasks.leaseExpiresAt, now))
/** SQL condition: planned and waiting for nothing. */
const planned = (now: string): SQL => and(startable(tasks), isUnheld(now), not(parentIsBlocked))
/** SQL condition: begun by somebody whose lease has expired, and waiting for nothing. */
const abandoned = (now: string): SQL =>
  and(
    isNotNull(tasks.leaseHolderId),
    inArray(tasks.status, ['in_progress', 'todo']),
    lte(tasks.leaseExpiresAt, now),
    not(tasks.hasOpenBlockers),
    not(tasks.hasOpenParts),
    not(parentIsBlocked),
  )

/**
 * SQL condition: the task can be started now. It is `todo` or abandoned, nobody holds it, and neither it nor its parent
 * is blocked, nor has it open parts. Tasks in the backlog are never ready.
 */
export const ready = (now: string): SQL => or(planned(now), abandoned(now))

interface Search {
  projectId?: string
  holder: Holder
}

const scopeOf = (ctx: Ctx, projectId: string | undefined): SQL =>
  and(
    visibleTo(rightsOf(ctx.actor)),
    eq(projectTable.status, 'active'),
    projectId ? eq(tasks.projectId, projectId) : eq(tasks.organizationId, currentOrganization(ctx.actor)),
  )

/**
 * The tasks that the holder may pick: their own, unassigned ones, and those that their assignee has abandoned. They
 * come in groups, the first ones before the others, because an index holds each group in its order: one query for all
 * would have to sort every task that can be started.
 */
function groups(ctx: Ctx, { holder }: Search): { which: SQL; order: SQL[] }[] {
  const own = eq(tasks.assigneeId, holder.id)
  const left = or(isNull(tasks.assigneeId), eq(tasks.assigneeId, tasks.leaseHolderId))
  const begun = and(abandoned(ctx.now), eq(tasks.status, 'in_progress'))
  return [
    { which: and(begun, own), order: byUrgency },
    { which: and(planned(ctx.now), own), order: byUrgency },
    { which: and(begun, left), order: byUrgency },
    { which: and(planned(ctx.now), isNull(tasks.assigneeId)), order: [assignee, ...byUrgency] },
    { which: and(abandoned(ctx.now), eq(tasks.status, 'todo'), left), order: byUrgency },
  ]
}

const inGroup = (ctx: Ctx, { projectId }: Search, which: SQL) =>
  ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(and(scopeOf(ctx, projectId), which))
    .$dynamic()

/** SQL for the id of the first task. `coalesce` runs a query only if those before it found nothing. */
function first(ctx: Ctx, search: Search, lock?: { skipLocked: boolean }): SQL<string | null> {
  const queries = groups(ctx, search).map(({ which, order }) => {
    const query = inGroup(ctx, search, which)
      .orderBy(...order)
      .limit(1)
    return sql`(${lock ? query.for('update', { of: tasks, skipLocked: lock.skipLocked as true }) : query})`
  })
  return sql<string | null>`coalesce(${sql.join(queries, sql`, `)})`
}

/** Claims a task in the statement that picks it, so that concurrent agents each get another one. */
async function take(
  ctx: Ctx,
  search: Search,
  minutes: number | undefined,
  skipLocked: boolean,
): Promise<string | undefined> {
  const [row] = await ctx.db
    .update(tasks)
    .set(claimed(search.holder, ctx.now, minutes))
    .where(sql`${tasks.id} = ${first(ctx, search, { skipLocked })}`)
    .returning({ id: tasks.id })
  return row?.id
}

async function look(ctx: Ctx, search: Search): Promise<string | undefined> {
  const [row] = await ctx.db.select({ id: first(ctx, search) }).from(sql`(select 1) one`)
  return row?.id ?? undefined
}

/** A task that was locked by another change may still be free, so the second try waits for the lock. */
const taken = async (ctx: Ctx, search: Search, minutes: number | undefined): Promise<string | undefined> =>
  (await take(ctx, search, minutes, true)) ?? ((await look(ctx, search)) && (await take(ctx, search, minutes, false)))

/**
 * Returns the task that the holder already works on: an agent that lost its context asks for the next task again, and
 * must not get a second one. Matches the credential too, because one agent may work in several places.
 */
async function underWay(ctx: Ctx, { projectId, holder }: Search): Promise<string | undefined> {
  if (!holder.credentialId) return undefined
  const [row] = await ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(
      and(
        eq(tasks.leaseCredentialId, holder.credentialId),
        isLeasedTo(holder),
        gt(tasks.leaseExpiresAt, ctx.now),
        eq(tasks.status, 'in_progress'),
        scopeOf(ctx, projectId),
      ),
    )
    .orderBy(desc(tasks.leaseSince), desc(tasks.id))
    .limit(1)
  return row?.id
}

const renewed = (ctx: Ctx, ref: string, { type, id, sessionId }: Holder, minutes: number | undefined): Promise<Task> =>
  renew(ctx, {
    ref,
    action: 'renew',
    minutes,
    agent: type === 'agent' ? id : undefined,
    sessionId: sessionId ?? undefined,
  })

const goOn = ({ lease }: Task): string =>
  `You already work on it, until ${lease?.expiresAt}. To get another, complete it or call claim_task (action release)`

/** Returns the next task of the project after this one, and claims it on request. */
export async function nextAfter(
  ctx: Ctx,
  { projectId, organizationId }: Pick<Task, 'projectId' | 'organizationId'>,
  claim: boolean,
): Promise<NextTask> {
  return pickNext(ctx, { projectId, holder: await holderOf(ctx, organizationId, {}) }, { claim })
}

async function pickNext(
  ctx: Ctx,
  search: Search,
  { claim, minutes }: Pick<TaskNext, 'claim' | 'minutes'>,
): Promise<NextTask> {
  const begun = await underWay(ctx, search)
  if (begun) {
    const task = claim === false ? await find(ctx, begun) : await renewed(ctx, begun, search.holder, minutes)
    return { task, why: goOn(task), waiting: [] }
  }
  const id = claim === false ? await look(ctx, search) : await taken(ctx, search, minutes)
  if (!id) return { task: null, ...(await whyNone(ctx, search)) }
  const task = await find(ctx, id)
  if (claim !== false) ctx.emit(taskClaimed, about(task, { holder: task.lease?.holder }))
  return { task, why: await why(ctx, task, search, claim !== false), waiting: [] }
}

/** The exact number of other ready tasks does not matter above this. */
const MOST_COUNTED = 100

async function why(ctx: Ctx, task: Task, search: Search, isTaken: boolean): Promise<string> {
  const all = groups(ctx, search).map(({ which }) => sql`(${inGroup(ctx, search, which).limit(MOST_COUNTED)})`)
  const { rows: others } = await ctx.db.execute(sql`${sql.join(all, sql` union `)} limit ${MOST_COUNTED}`)
  const ready = others.length + (isTaken ? 1 : 0)
  const many = others.length === MOST_COUNTED ? `at least ${MOST_COUNTED}` : ready
  const [waiting] = await ctx.db
    .select({ keys: openWaiters(rightsOf(ctx.actor)) })
    .from(tasks)
    .where(eq(tasks.id, task.id))
  const waiters = keysIn(waiting?.keys ?? null).filter((key) => key !== HIDDEN)
  const named =
    waiters.length > 5 ? `${waiters.slice(0, 5).join(', ')} and ${waiters.length - 5} more` : waiters.join(', ')
  return [
    `${task.priority} priority${ready > 1 ? `, first of ${many} ready tasks` : ', the only ready task'}`,
    task.dueAt ? `due ${task.dueAt.slice(0, 10)}` : undefined,
    waiters.length > 0 ? `${named} wait${waiters.length === 1 ? 's' : ''} for it` : undefined,
  ]
    .filter(Boolean)
    .join('; ')
}

const MINE_AT_MOST = 50

type OwnTask = Omit<TaskItem, 'lease'> & { lease: (Lease & { own: boolean }) | null }

/** Returns the caller's open tasks: those they work on first, then those assigned to them. */
export const mine = read(
  'tasks.mine',
  member('tasks:read'),
  async (ctx, _: Record<string, never>): Promise<OwnTask[]> => {
    const me = speaker(ctx)
    const leased = and(eq(tasks.leaseType, me.type), eq(tasks.leaseHolderId, me.id), gt(tasks.leaseExpiresAt, ctx.now))
    const held = sql`coalesce(${leased}, false)`
    const rows = await selectItems(ctx)
      .where(
        and(
          scopeOf(ctx, undefined),
          inArray(tasks.status, open),
          or(held, and(eq(tasks.assigneeType, me.type), eq(tasks.assigneeId, me.id))),
        ),
      )
      .orderBy(desc(held), desc(eq(tasks.status, 'in_progress')), urgency, tasks.position, tasks.id)
      .limit(MINE_AT_MOST)
    return rows.map((row) => {
      const { lease, ...task } = toItem(row, ctx.now)
      return { ...task, lease: lease && { ...lease, own: sameParty(lease.holder, me) } }
    })
  },
)

/** Explains why there is no task; without a reason agents ask again and again. */
async function whyNone(ctx: Ctx, { projectId }: Search): Promise<Omit<NextTask, 'task'>> {
  const rows = await selectItems(ctx)
    .where(and(scopeOf(ctx, projectId), inArray(tasks.status, open)))
    .orderBy(sql`${tasks.status} = 'backlog'`, urgency, tasks.position, tasks.id)
    .limit(10)
  const waiting = rows.map((row) => {
    const task = toItem(row, ctx.now)
    return { key: task.key, title: task.title, reason: reasonOf(task) }
  })
  const where = projectId ? 'this project' : 'your organization'
  const text =
    waiting.length === 0
      ? `There is no open task in ${where}. Create one with create_task or create_plan.`
      : `No task in ${where} can be started now: ${waiting
          .map((w) => `${w.key} ${w.reason}`)
          .slice(0, 3)
          .join('; ')}.`
  return { why: text, waiting }
}

function reasonOf({ status, blockedBy, lease, assignee }: TaskItem): string {
  if (lease) return `${lease.holder.name} works on it until ${lease.expiresAt}`
  if (blockedBy.length > 0) return `waits for ${keysInWords(blockedBy)}`
  if (status === 'backlog') return 'is in the backlog: move it to todo first'
  if (status === 'in_review') return 'waits for a review'
  if (status === 'blocked') return 'is marked as blocked'
  if (assignee) return `is for ${assignee.name}`
  return status === 'in_progress' ? 'is in progress' : 'waits for its parts or its parent'
}

export const next = write(
  'tasks.next',
  member('tasks:write'),
  async (
    ctx,
    { projectRef, projectId, agent, sessionId, ...how }: TaskNext & { projectRef?: string },
  ): Promise<NextTask> => {
    const project = await projectOf(ctx, projectRef ?? projectId)
    if (project) requireOpenProject(ctx, project, 'Working in this project')
    const holder = await holderOf(ctx, project?.organizationId ?? currentOrganization(ctx.actor), { agent, sessionId })
    return pickNext(ctx, { projectId: project?.id, holder }, how)
  },
)
