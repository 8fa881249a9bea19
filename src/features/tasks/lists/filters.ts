import { eq, gt, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { currentOrganization } from '../../../auth/actor.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { anyOf, hasAll, idList, listText, matches } from '../../../db/columns.ts'
import { and, or } from '../../../db/conditions.ts'
import { AppError } from '../../../errors.ts'
import { openCondition } from '../../../records/open.ts'
import { isId } from '../../../records/reference.ts'
import type { Priority, Status } from '../../../records/task-states.ts'
import { splitList } from '../../../schema.ts'
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
  const held = query.holder === undefined ? undefined : await isOfParties(ctx, query.holder, 'leaseHolderId')
  return [
    visibleTo(rightsOf(ctx.actor)),
    // A project may belong to another team, in a shared workspace.
    projectId === undefined ? eq(tasks.organizationId, organizationId) : eq(tasks.projectId, projectId),
    query.epicId &&
      sql`${tasks.storyId} in (select ${stories.id} from ${stories} where ${stories.epicId} = ${query.epicId})`,
    query.storyId === undefined ? undefined : eq(tasks.storyId, query.storyId),
    query.parentId === undefined ? undefined : eq(tasks.parentId, query.parentId),
    openCondition(tasks.status, query.open),
    query.priority && inArray(tasks.priority, splitList<Priority>(query.priority)),
    query.assignee === undefined ? undefined : await isOfParties(ctx, query.assignee, 'assigneeId'),
    held && (isNobody(query.holder) ? or(isUnheld(ctx.now), held) : and(isLeased(ctx.now), held)),
    query.leased === undefined ? undefined : query.leased ? isLeased(ctx.now) : isUnheld(ctx.now),
    query.labels ? hasAll(tasks.labels, query.labels) : hasLabel(query.label),
    query.dueBefore && sql`${dueOrNever(tasks)} < ${query.dueBefore}::timestamptz`,
    query.dueAfter && and(sql`${dueOrNever(tasks)} >= ${query.dueAfter}::timestamptz`, sql`${tasks.dueAt} is not null`),
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
/** SQL condition: it has one of the listed states. Undefined without a list. */
export const hasAnyStatus = (list: string | undefined): SQL | undefined => or(...splitList<Status>(list).map(hasStatus))

/** SQL condition: the task is claimed. The index of leases needs the holder. */
export const isLeased = (now: string): SQL => and(isNotNull(tasks.leaseHolderId), gt(tasks.leaseExpiresAt, now))

const isNobody = (list: string | undefined): boolean => splitList(list).some((who) => who.toLowerCase() === 'none')

/** SQL condition: the column names one of the listed people and agents; `none`: no one. */
async function isOfParties(ctx: Ctx, list: string, column: 'assigneeId' | 'leaseHolderId'): Promise<SQL> {
  const organizationId = currentOrganization(ctx.actor)
  const named = splitList(list).filter((who) => who.toLowerCase() !== 'none')
  const ids = await Promise.all(named.map((who) => idsToFilterBy(ctx, organizationId, who))).catch(
    async (error: unknown) => {
      // A name may contain a comma itself.
      if (named.length > 1 && error instanceof AppError && error.code === 'not_found')
        return [await idsToFilterBy(ctx, organizationId, list).catch(() => Promise.reject(error))]
      throw error
    },
  )
  return or(anyOf(tasks[column], idList(ids.flat())), isNobody(list) ? isNull(tasks[column]) : undefined)
}

/** SQL condition: it has one of the labels. A label may contain a comma, so the whole text counts as one too. */
const hasLabel = (list: string | undefined): SQL | undefined =>
  list ? sql`${tasks.labels} && ${listText([...new Set([list, ...splitList(list)])])}::text[]` : undefined

/** Returns the id of the project if it is the only filter. */
export function onlyProject({ projectId, ...query }: ListQuery): string | undefined {
  const others = ['status', 'sort', 'order', 'limit', 'cursor', 'total', 'group', 'mustExist']
  const isOnly = Object.entries(query).every(([name, value]) => value === undefined || others.includes(name))
  return isOnly && projectId !== undefined && isId(projectId) ? projectId : undefined
}
