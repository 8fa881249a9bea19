import { between, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and, or } from '../../db/conditions.ts'
import { PART_SEPARATOR, type RecordKind, recentComments } from '../../records/kind.ts'
import { projects } from '../projects/table.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { taskDeleted } from './events.ts'
import { matchTaskFilter } from './lists/query-filter.ts'
import { assigneeOfItem } from './parties.ts'
import * as service from './service.ts'
import { taskSync } from './sync.ts'
import { taskComments, tasks } from './table.ts'

const key = sql`(select p.key from ${projects} p where p.id = ${tasks.projectId}) || '-' || ${tasks.number}`

/** `LA-2` begins LA-2, LA-20 and LA-213. An index serves the ranges, which it would not for the number as text. */
function keyBegins(text: string): SQL | undefined {
  const [, project, digits] = /^([a-z]{2,6})-([1-9]\d{0,6})$/i.exec(text) ?? []
  if (!project || !digits) return undefined
  const n = Number(digits)
  const found = sql`(select p.id from ${projects} p where p.key = ${project.toUpperCase()})`
  return and(
    inArray(tasks.projectId, found),
    or(eq(tasks.number, n), between(tasks.number, n * 10, n * 10 + 9), between(tasks.number, n * 100, n * 100 + 99)),
  )
}

const { acceptance: _, description: __, completionNotes: ___, assigneeType: ____, ...plain } = taskSync.columns

const ofTask = sql`${taskComments.taskId} = ${tasks.id}`
const hasComments = sql`exists (select 1 from ${taskComments} where ${ofTask})`

export const taskRecord: RecordKind<Ctx> = {
  kind: 'task',
  table: tasks,
  title: tasks.title,
  scope: 'tasks:read',
  visible: liveOfTeamOrProject(tasks),
  deleted: taskDeleted,
  path: sql`'/tasks/' || ${key}`,
  key,
  keyBegins,
  status: tasks.status,
  matchFilter: matchTaskFilter,
  // Blockers are left out, because they depend on the reader.
  item: { ...plain, assignee: assigneeOfItem },
  inBriefs: true,
  search: {
    text: sql`concat_ws(${PART_SEPARATOR},
      concat_ws(e'\n\n', ${tasks.description},
        (select string_agg(criterion ->> 'text', e'\n') from jsonb_array_elements(${tasks.acceptance}) criterion),
        ${tasks.completionNotes},
        (select string_agg('#' || label, ' ') from unnest(${tasks.labels}) label)),
      ${recentComments(taskComments.body, taskComments.createdAt, ofTask)})`,
    grown: or(hasComments, sql`cardinality(${tasks.labels}) > 0`),
    several: hasComments,
    tags: tasks.labels,
    agentId: sql`case when ${tasks.assigneeType} = 'agent' then ${tasks.assigneeId} end`,
    sessionId: tasks.leaseSessionId,
  },
  resource: {
    title: 'Task',
    references: 'Key (TUT-42) or id',
    tool: 'get_task',
    read: (ctx, ref) => service.getDetail(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { limit }),
  },
  sync: taskSync,
}
