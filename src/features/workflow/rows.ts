import { sql } from 'drizzle-orm'
import { agents } from '../agents/table.ts'
import type { FeatureKind } from '../projects/workflow/workflow-schema.ts'
import { users } from '../users/table.ts'
import type { FeatureItem } from './schema.ts'
import { features } from './table.ts'

export const featureColumns = {
  id: features.id,
  createdAt: features.createdAt,
  updatedAt: features.updatedAt,
  version: features.version,
  organizationId: features.organizationId,
  projectId: features.projectId,
  createdById: features.createdById,
  title: features.title,
  description: features.description,
  kind: sql<FeatureKind>`${features.kind}`,
  priority: features.priority,
  status: features.status,
  assigneeType: features.assigneeType,
  assigneeId: features.assigneeId,
  /** Null for an agent that neither belongs to the team any more nor is public. */
  assigneeName: sql<string | null>`case ${features.assigneeType}
    when 'user' then (select ${users.name} from ${users} where ${users.id} = ${features.assigneeId})
    when 'agent' then (select ${agents.name} from ${agents} where ${agents.id} = ${features.assigneeId}
      and (${agents.organizationId} = ${features.organizationId} or ${agents.scope} = 'public')) end`,
  taskIds: features.taskIds,
  specId: features.specId,
}
export type Row = Omit<FeatureItem, 'gates' | 'assignee'> & {
  description: string | null
  assigneeType: 'user' | 'agent' | null
  assigneeId: string | null
  assigneeName: string | null
}

export const featureEvent = <D extends object>(row: Row, data?: D) => ({
  subjectId: row.id,
  organizationId: row.organizationId,
  projectId: row.projectId,
  // The assignee, otherwise the author: their open streams receive the event.
  data: Object.assign(
    {
      title: row.title,
      status: row.status,
      version: row.version,
      concerns: [row.assigneeId ?? row.createdById],
    },
    data,
  ),
})
