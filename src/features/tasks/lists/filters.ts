import { eq, gt, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { currentOrganization } from '../../../auth/actor.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { anyOf, hasAll, idList, listText, matches } from '../../../db/columns.ts'
import { and, or } from '../../../db/conditions.ts'
import { AppError, invalid } from '../../../errors.ts'
import { openCondition } from '../../../records/open.ts'
import { isId } from '../../../records/reference.ts'
import type { Priority, Status } from '../../../records/task-states.ts'
import { instantOf, splitList } from '../../../schema.ts'
import { idsToFilterBy } from '../../agents/users-and-agents.ts'
import { type ProjectFilter, projectFilter } from '../../projects/current.ts'
import { stories } from '../../stories/table.ts'
import { isReadyTask, isUnheld } from '../leases/pick-order.ts'
import { visibleTo } from '../rows.ts'
import { dueOrNever, taskComments, tasks } from '../table.ts'
import type { TaskQuery } from './list-schema.ts'

export type ListQuery = TaskQuery & ProjectFilter & { labels?: string[] }

/** Builds the conditions of a list, apart from the state. */
export async function filtersOf(ctx: Ctx, query: ListQuery): Promise<(SQL | undefined)[]> {
  const projectId = await projectFilter(ctx, query)
  const organizationId = currentOrganization(ctx.actor)
  return [
    visibleTo(rightsOf(ctx.actor)),
    // A project may belong to another team, in a shared workspace.
    projectId === undefined ? eq(tasks.organizationId, organizationId) : eq(tasks.projectId, projectId),
    query.epicId && isOfEpics(query.epicId),
    query.storyId === undefined ? undefined : eq(tasks.storyId, query.storyId),
    query.parentId === undefined ? undefined : eq(tasks.parentId, query.parentId),
    openCondition(tasks.status, query.open),
    matchesFilter('priority', query.priority, (values) => inArray(tasks.priority, values as Priority[])),
    query.assignee === undefined ? undefined : await isAssignedTo(ctx, query.assignee),
    query.holder === undefined ? undefined : await isHeldByParties(ctx, query.holder),
    query.leased === undefined ? undefined : query.leased ? isLeased(ctx.now) : isUnheld(ctx.now),
    query.labels ? hasAll(tasks.labels, query.labels) : hasLabel(query.label),
    query.dueBefore && sql`${dueOrNever(tasks)} < ${query.dueBefore}::timestamptz`,
    query.dueAfter && and(sql`${dueOrNever(tasks)} >= ${query.dueAfter}::timestamptz`, sql`${tasks.dueAt} is not null`),
    query.updatedAfter && sql`${tasks.updatedAt} >= ${instantOf(query.updatedAfter, ctx.now)}::timestamptz`,
    query.search ? hasWords(query.search) : undefined,
    query.ready ? isReadyTask(ctx.now) : undefined,
  ].map((condition) => condition || undefined)
}

/** SQL condition: the task or one of its comments contains the words. */
const hasWords = (text: string): SQL =>
  or(
    matches(tasks.search, text),
    sql`${tasks.id} in (select ${taskComments.taskId} from ${taskComments}
      where ${matches(taskComments.search, text)})`,
  )

/** SQL condition. Tasks with open blockers count as blocked, whatever their own state is. */
const hasStatus = (status: Status): SQL =>
  status === 'blocked'
    ? or(eq(tasks.status, status), and(sql`${tasks.status} not in ('done', 'cancelled')`, tasks.hasOpenBlockers))
    : eq(tasks.status, status)
/** SQL condition: it has one of the listed states, or none of those after a `!`. Undefined without a list. */
export const hasAnyStatus = (list: string | undefined): SQL | undefined =>
  matchesFilter('status', list, (values) => or(...(values as Status[]).map(hasStatus)))

/** SQL condition: the task is claimed. The index of leases needs the holder. */
export const isLeased = (now: string): SQL => and(isNotNull(tasks.leaseHolderId), gt(tasks.leaseExpiresAt, now))

/** The values of a filter, and whether it asks for tasks without them: `!docs,!web`. */
interface FilterValues {
  values: string[]
  isNot: boolean
}

/** Splits a filter. A `!` stands before all of its values or before none: else its meaning would be unclear. */
export function splitFilter(name: string, list: string): FilterValues {
  const parts = splitList(list)
  const isNot = parts[0]?.startsWith('!') === true
  if (parts.some((part) => part.startsWith('!') !== isNot || part === '!'))
    throw invalid(`/${name}`, `Write ! before every value of ${name}, or before none: !first,!second.`)
  return { values: isNot ? parts.map((part) => part.slice(1).trim()) : parts, isNot }
}

/** Negates a condition that may be null, such as one on a column without a value. */
const unless = (isNot: boolean, condition: SQL): SQL => (isNot ? sql`(${condition}) is not true` : condition)

function matchesFilter(
  name: string,
  list: string | undefined,
  condition: (values: string[]) => SQL | undefined,
): SQL | undefined {
  if (!list) return undefined
  const { values, isNot } = splitFilter(name, list)
  const matching = condition(values)
  return matching && unless(isNot, matching)
}

/** The ids of epics in a filter. */
export function epicIdsIn(list: string): string[] {
  const { values } = splitFilter('epicId', list)
  if (!values.every(isId)) throw invalid('/epicId', 'epicId is not a valid uuid.', 'format')
  return values
}

function isOfEpics(list: string): SQL {
  const isOne = anyOf(stories.epicId, idList(epicIdsIn(list)))
  const isOfOne = sql`${tasks.storyId} in (select ${stories.id} from ${stories} where ${isOne})`
  return unless(splitFilter('epicId', list).isNot, isOfOne)
}

async function isAssignedTo(ctx: Ctx, list: string): Promise<SQL> {
  const { condition, isNot } = await isOfParties(ctx, 'assignee', list)
  return unless(isNot, condition)
}

/** SQL condition: one of the listed people and agents holds the task now; `none`: no one does. */
async function isHeldByParties(ctx: Ctx, list: string): Promise<SQL> {
  const { condition, isNot, isNobody } = await isOfParties(ctx, 'holder', list)
  return unless(isNot, isNobody ? or(isUnheld(ctx.now), condition) : and(isLeased(ctx.now), condition))
}

const partyColumns = { assignee: tasks.assigneeId, holder: tasks.leaseHolderId }

/** SQL condition: the column names one of the listed people and agents; `none`: no one. */
async function isOfParties(ctx: Ctx, name: keyof typeof partyColumns, list: string) {
  const organizationId = currentOrganization(ctx.actor)
  const { values, isNot } = splitFilter(name, list)
  const named = values.filter((who) => who.toLowerCase() !== 'none')
  const isNobody = named.length < values.length
  const ids = await Promise.all(named.map((who) => idsToFilterBy(ctx, organizationId, who))).catch(
    async (error: unknown) => {
      // A name may contain a comma itself.
      if (named.length > 1 && error instanceof AppError && error.code === 'not_found')
        return [await idsToFilterBy(ctx, organizationId, list).catch(() => Promise.reject(error))]
      throw error
    },
  )
  const column = partyColumns[name]
  const condition = or(anyOf(column, idList(ids.flat())), isNobody ? isNull(column) : undefined)
  return { condition, isNot, isNobody }
}

/** SQL condition: it has one of the labels. A label may contain a comma, so the whole text counts as one too. */
const hasLabel = (list: string | undefined): SQL | undefined =>
  matchesFilter('label', list, (values) => {
    const whole = list?.startsWith('!') ? list.slice(1) : (list ?? '')
    return sql`${tasks.labels} && ${listText([...new Set([whole, ...values])])}::text[]`
  })

/** Returns the id of the project if it is the only filter. */
export function onlyProject({ projectId, ...query }: ListQuery): string | undefined {
  const others = [
    'status',
    'sort',
    'order',
    'limit',
    'cursor',
    'total',
    'group',
    'in',
    'folded',
    'countReady',
    'with',
    'doneAfter',
    'mustExist',
  ]
  const isOnly = Object.entries(query).every(([name, value]) => value === undefined || others.includes(name))
  return isOnly && projectId !== undefined && isId(projectId) ? projectId : undefined
}
