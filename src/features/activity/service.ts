import { eq, gte, isNull, lt, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { invalid, notFound } from '../../errors.ts'
import { groupActor } from '../../events/actor.ts'
import { isHandLogged, withHandLoggedType } from '../../events/catalogue.ts'
import type { AppEvent } from '../../events/event.ts'
import { events } from '../../events/table.ts'
import { feedColumns, isInFeedOf, isWorkEvent, recordAddress, toEntry } from '../../records/feed.ts'
import { keyset } from '../../records/page.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { quoteName } from '../../text/quoting.ts'
import { agentFilter } from '../agents/users-and-agents.ts'
import { projectFilter, projectOf } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { projects as projectTable } from '../projects/table.ts'
import { sessionOf } from '../projects/work-session.ts'
import { findTask } from '../tasks/rows.ts'
import { activityLogged } from './events.ts'
import {
  type Activity,
  type ActivityItem,
  type ActivityLog,
  type ActivityPage,
  type ActivityQuery,
  METADATA_BYTES,
} from './schema.ts'
import { resolveActivityType } from './types.ts'

/**
 * SQL condition: events of the caller's organizations, and of the projects that they see. Of a project that moved to
 * another team, only events since the move: earlier ones name people and records of the former team.
 *
 * This is `ofTeamOrProject` for events, written out. That rule would add a condition on `organizationId` which both
 * branches here imply. The planner would count it twice, expect too few rows and might not use the indexes by seq.
 */
export function visibleEvents(ctx: Ctx): SQL {
  const rights = rightsOf(ctx.actor)
  // Evaluated once, not for every event.
  const places = sql`select ${projectTable.id}, ${projectTable.organizationId} from ${projectTable}
    where ${projects.visibleTo(rights)}`
  return and(
    isInFeedOf(ctx),
    or(
      and(isNull(events.projectId), anyOf(events.organizationId, rights.organizations)),
      sql`(${events.projectId}, ${events.organizationId}) in (${places})`,
    ),
  )
}

const activityColumns = {
  ...feedColumns,
  seq: events.seq,
  organizationId: sql<string>`${events.organizationId}`,
  projectId: events.projectId,
  subjectId: events.subjectId,
}
/** Columns of list items: without metadata. */
const itemColumns = {
  ...activityColumns,
  data: sql<Record<string, unknown>>`${events.data} - 'metadata'`.mapWith(events.data),
}

type ActivityRow = Parameters<typeof toEntry>[1] &
  Pick<ActivityItem, 'id' | 'at' | 'organizationId' | 'projectId' | 'subjectId'>

function toActivity({ app: { events: catalogue } }: Ctx, event: ActivityRow): Activity {
  const { id, at, type, organizationId, projectId, subjectId } = event
  const { description, actor, data: shown } = toEntry(catalogue, event)
  const logged = isHandLogged(type)
  const kind = catalogue.kindOf(type)
  return {
    id,
    at,
    type,
    description,
    actor,
    organizationId,
    projectId,
    taskId: logged ? ((shown.taskId as string | undefined) ?? null) : kind === 'task' ? subjectId : null,
    sessionId: logged ? ((shown.sessionId as string | undefined) ?? null) : kind === 'session' ? subjectId : null,
    subjectId,
    path: catalogue.get(type)?.deletes ? null : recordAddress(catalogue, type, subjectId),
    metadata: logged ? ((shown.metadata as Activity['metadata'] | undefined) ?? {}) : shown,
  }
}

/**
 * Limits the scan to recent events. Events are numbered in the order of writing, and their ids contain a time shortly
 * after `at`. An event with a lower number than one from an hour before `since` is older, so it need not be read.
 */
export function writtenAfter(since: string): SQL {
  const time = Math.max(0, Date.parse(since) - 3_600_000)
    .toString(16)
    .padStart(12, '0')
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
  return sql`${events.seq} > coalesce((select e.seq from ${events} e where e.id < ${id}::uuid
    order by e.id desc limit 1), 0)`
}

/** SQL conditions, written so that the planner can use the partial index of what agents did. */
const isOf = {
  agent: sql`${events.actorKind} = 'agent'`,
  user: sql`${events.actorKind} not in ('agent', 'system')`,
}

export const list = read(
  'activity.list',
  member('activities:read'),
  async (ctx, query: ActivityQuery & { mustExist?: boolean }): Promise<ActivityPage> => {
    const page = keyset({ seq: events.seq }, events.id, query, { sort: 'seq' })
    const { taskId, since, until, actorId, actorType, subjectId } = query
    const agentId = await agentFilter(ctx, query.agentId, query.mustExist)
    const projectId = await projectFilter(ctx, query)
    // A project may belong to another team, in a workspace that both share.
    const isThere =
      projectId === undefined
        ? eq(events.organizationId, currentOrganization(ctx.actor))
        : eq(events.projectId, projectId)
    const seen = visibleEvents(ctx)
    const type =
      query.type && query.mustExist ? await resolveActivityType(ctx, query.type, and(isThere, seen)) : query.type
    const rows = await ctx.db
      .select(itemColumns)
      .from(events)
      .where(
        page.where(
          isThere,
          // The cheapest and most selective conditions come first.
          since === undefined ? undefined : and(gte(events.at, since), writtenAfter(since)),
          until === undefined ? undefined : lt(events.at, until),
          taskId === undefined ? undefined : eq(events.subjectId, taskId),
          subjectId === undefined ? undefined : eq(events.subjectId, subjectId),
          actorId === undefined ? undefined : eq(events.actorId, actorId),
          actorType === undefined ? undefined : isOf[actorType],
          // Written so that the planner can use the partial index.
          agentId === undefined ? undefined : sql`${events.actorKind} = 'agent' and ${eq(events.actorId, agentId)}`,
          isWorkEvent(ctx.app.events, type),
          seen,
        ),
      )
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const { items, nextCursor } = page.page(rows)
    return {
      items: items.map((row) => (({ metadata: _, ...item }) => item)(toActivity(ctx, groupActor(row)))),
      nextCursor,
    }
  },
)

export const get = read(
  'activity.get',
  member('activities:read'),
  async (ctx, { ref }: { ref: string }): Promise<Activity> => {
    const select = (match: SQL) =>
      ctx.db
        .select(activityColumns)
        .from(events)
        .where(and(match, isWorkEvent(ctx.app.events), visibleEvents(ctx)))
        .limit(2)
    const found = await findByReference(ref, {
      id: (id) => select(eq(events.id, id)),
      name: async () => [],
      prefix: (prefix) => select(idStartsWith(events.id, prefix)),
    })
    if (!found) throw notFound('activity', ref)
    return toActivity(ctx, groupActor(found))
  },
)

/** Logs an activity by hand: something that no record shows, such as a deployment or a failed attempt. */
export const log = write(
  'activity.log',
  member('activities:write'),
  async (ctx, input: ActivityLog): Promise<Activity> => {
    const { type, description, metadata, sessionId } = input
    if (metadata && Buffer.byteLength(JSON.stringify(metadata)) > METADATA_BYTES)
      throw invalid('/metadata', 'metadata exceeds 16 KiB. Use a note for long texts.', 'too_long')
    const task = input.task === undefined ? undefined : await findTask(ctx, input.task)
    const project = await projectOf(ctx, input.project ?? task?.projectId)
    if (task && project && task.projectId !== project.id)
      throw invalid('/task', `${task.key} is not a task of ${quoteName(projects.projectNamesFor(ctx, project).name)}.`)
    if (sessionId) await sessionOf(ctx, { ref: sessionId })
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    await projects.requireWriter(ctx, place, 'Logging an activity')
    ctx.emit(withHandLoggedType(activityLogged, type), {
      ...place,
      subjectId: task?.id ?? sessionId ?? project?.id,
      data: {
        description: description.trim(),
        ...(task && { taskId: task.id }),
        ...(sessionId && { sessionId }),
        ...(metadata && { metadata }),
      },
    })
    const event = ctx.unit?.events.at(-1) as AppEvent
    return toActivity(ctx, { ...event, ...place })
  },
)
