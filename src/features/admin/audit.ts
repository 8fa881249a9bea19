import { eq, gte, lt, or, sql } from 'drizzle-orm'
import { read } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { actorColumns, groupActor } from '../../events/actor.ts'
import { events } from '../../events/table.ts'
import { keyset } from '../../records/page.ts'
import type { AuditPage, AuditQuery } from './schema.ts'

export const audit = read('admin.audit', admin, async (ctx, query: AuditQuery): Promise<AuditPage> => {
  const page = keyset({ seq: events.seq }, events.id, query, { sort: 'seq' })
  const { type, actorId, userId, organizationId, since, until } = query
  const impersonatorId = sql<string | null>`${events.data}->>'impersonatorId'`
  const rows = await ctx.db
    .select({
      id: events.id,
      seq: events.seq,
      at: events.at,
      type: events.type,
      action: events.action,
      ...actorColumns,
      impersonatorId,
      credentialId: events.credentialId,
      organizationId: events.organizationId,
      projectId: events.projectId,
      userId: events.userId,
      subjectId: events.subjectId,
      data: events.data,
      requestId: events.requestId,
      ip: events.ip,
    })
    .from(events)
    .where(
      page.where(
        type === undefined ? undefined : sql`starts_with(${events.type}, ${type})`,
        actorId === undefined
          ? undefined
          : or(eq(events.actorId, actorId), eq(events.actorForId, actorId), eq(impersonatorId, actorId)),
        userId === undefined ? undefined : eq(events.userId, userId),
        organizationId === undefined ? undefined : eq(events.organizationId, organizationId),
        since === undefined ? undefined : gte(events.at, since),
        until === undefined ? undefined : lt(events.at, until),
      ),
    )
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const described = rows.map((row) => ({
    ...groupActor(row),
    description: ctx.app.events.get(row.type)?.description ?? row.type,
  }))
  return page.page(described)
})
