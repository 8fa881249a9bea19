import { and, count, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { read } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { matches } from '../../db/columns.ts'
import { keyset } from '../../db/page.ts'
import { users } from '../accounts/table.ts'
import { agents } from '../agents/table.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import type { FeaturePage, FeatureQuery } from './schema.ts'
import { features } from './table.ts'

const visible = {
  id: features.id,
  createdAt: features.createdAt,
  updatedAt: features.updatedAt,
  version: features.version,
  organizationId: features.organizationId,
  projectId: features.projectId,
  createdById: features.createdById,
  title: features.title,
  description: features.description,
  kind: features.kind,
  priority: features.priority,
  status: features.status,
  assigneeType: features.assigneeType,
  assigneeId: features.assigneeId,
  assigneeName: sql<string | null>`coalesce(${users.name}, ${agents.name})`,
  taskIds: features.taskIds,
  specId: features.specId,
}

/** Of the current team, in projects that the caller may see. */
export const list = read('features.list', member('features:read'), async (ctx, query: FeatureQuery): Promise<FeaturePage> => {
  const keys = { updatedAt: features.updatedAt, createdAt: features.createdAt, title: features.title }
  const page = keyset(keys, features.id, query, { sort: 'updatedAt' })
  const filters: (SQL | undefined)[] = [
    isNull(features.deletedAt),
    eq(features.organizationId, currentOrganization(ctx.actor)),
    sql`exists (select 1 from ${projectTable} where ${projectTable.id} = ${features.projectId} and ${projects.visibleTo(rightsOf(ctx.actor))})`,
    query.projectId === undefined ? undefined : eq(features.projectId, query.projectId),
    query.status === undefined ? undefined : eq(features.status, query.status),
    query.search ? matches(features.search, query.search) : undefined,
  ]
  const rows = await ctx.db
    .select(visible)
    .from(features)
    .leftJoin(users, and(eq(features.assigneeType, 'user'), eq(users.id, features.assigneeId)))
    .leftJoin(agents, and(eq(features.assigneeType, 'agent'), eq(agents.id, features.assigneeId)))
    .where(page.where(...filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total
    ? (
        await ctx.db
          .select({ n: count() })
          .from(features)
          .where(and(...filters))
      )[0]?.n
    : undefined
  return page.page(
    rows.map(({ assigneeType: type, assigneeId: id, assigneeName: name, ...feature }) => ({
      ...feature,
      assignee: type && id && name ? { type, id, name } : null,
    })),
    total,
  )
})
