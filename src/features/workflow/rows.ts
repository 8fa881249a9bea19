import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { users } from '../accounts/table.ts'
import { agents } from '../agents/table.ts'
import type { FeatureItem, Kind } from './schema.ts'
import { features } from './table.ts'

export const columns = {
  id: features.id,
  createdAt: features.createdAt,
  updatedAt: features.updatedAt,
  version: features.version,
  organizationId: features.organizationId,
  projectId: features.projectId,
  createdById: features.createdById,
  title: features.title,
  description: features.description,
  kind: sql<Kind>`${features.kind}`,
  priority: features.priority,
  status: features.status,
  assigneeType: features.assigneeType,
  assigneeId: features.assigneeId,
  assigneeName: sql<string | null>`case ${features.assigneeType}
    when 'user' then (select ${users.name} from ${users} where ${users.id} = ${features.assigneeId})
    when 'agent' then (select ${agents.name} from ${agents} where ${agents.id} = ${features.assigneeId}) end`,
  taskIds: features.taskIds,
  specId: features.specId,
}
export type Row = Omit<FeatureItem, 'gates' | 'assignee'> & {
  description: string | null
  assigneeType: 'user' | 'agent' | null
  assigneeId: string | null
  assigneeName: string | null
}

export const announce = (ctx: Ctx, type: string, row: Row, data: Record<string, unknown> = {}): void =>
  ctx.emit(type, {
    subjectId: row.id,
    organizationId: row.organizationId,
    projectId: row.projectId,
    data: { title: row.title, status: row.status, version: row.version, ...data },
  })
