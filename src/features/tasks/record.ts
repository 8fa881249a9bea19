import { sql } from 'drizzle-orm'
import type { RecordKind } from '../../records/kind.ts'
import { projects } from '../projects/table.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import * as service from './service.ts'
import { taskSync } from './sync.ts'
import { tasks } from './table.ts'

const key = sql`(select p.key from ${projects} p where p.id = ${tasks.projectId}) || '-' || ${tasks.number}`

export const taskRecord: RecordKind = {
  kind: 'task',
  table: tasks,
  title: tasks.title,
  scope: 'tasks:read',
  visible: liveOfTeamOrProject(tasks),
  path: sql`'/tasks/' || ${key}`,
  key,
  status: tasks.status,
  inBriefs: true,
  search: {
    text: sql`concat_ws(e'\n\n', ${tasks.description},
    (select string_agg(criterion ->> 'text', e'\n') from jsonb_array_elements(${tasks.acceptance}) criterion),
      ${tasks.completionNotes})`,
    tags: tasks.labels,
    agentId: sql`case when ${tasks.assigneeType} = 'agent' then ${tasks.assigneeId} end`,
    sessionId: tasks.leaseSessionId,
  },
  resource: {
    title: 'Task',
    references: 'Key (TUT-42) or id',
    tool: 'get_task',
    read: (ctx, ref) => service.detail(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { limit }),
  },
  sync: taskSync,
}
