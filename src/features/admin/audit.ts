import { eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { anyOf, contains, idList } from '../../db/columns.ts'
import { or } from '../../db/conditions.ts'
import { actorColumns, groupActor } from '../../events/actor.ts'
import { events } from '../../events/table.ts'
import { keyset } from '../../records/page.ts'
import { agents } from '../agents/table.ts'
import { users } from '../users/table.ts'
import { auditSentence } from './audit-sentence.ts'
import type { AuditPage, AuditQuery } from './schema.ts'

const impersonatorId = sql<string | null>`${events.data}->>'impersonatorId'`

export const audit = read('admin.audit', admin, async (ctx, query: AuditQuery): Promise<AuditPage> => {
  const page = keyset({ seq: events.seq }, events.id, query, { sort: 'seq' })
  const { type, actorId, userId, organizationId, since, until, person } = query
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
        person ? await isOfPerson(ctx, person) : undefined,
        organizationId === undefined ? undefined : eq(events.organizationId, organizationId),
        since === undefined ? undefined : gte(events.at, since),
        until === undefined ? undefined : lt(events.at, until),
      ),
    )
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const nameOf = await namesOf(ctx, rows)
  const described = rows.map(groupActor).map((row) => ({
    ...row,
    description: ctx.app.events.get(row.type)?.description ?? row.type,
    sentence: auditSentence(ctx.app.events, row, nameOf),
  }))
  return page.page(described)
})

/** Returns a function that knows the names of the people in these rows. */
async function namesOf(
  ctx: Ctx,
  rows: readonly { userId: string | null; impersonatorId: string | null }[],
): Promise<(id: string | null) => string | undefined> {
  const ids = [...new Set(rows.flatMap(({ userId, impersonatorId }) => [userId ?? [], impersonatorId ?? []].flat()))]
  const found = await ctx.db
    .select({ id: users.id, name: users.name })
    .from(users)
    .where(anyOf(users.id, idList(ids)))
  const names = new Map(found.map(({ id, name }) => [id, name]))
  return (id) => (id === null ? undefined : names.get(id))
}

/** People and agents that a filter may name. */
const MOST_NAMED = 100

/** SQL condition: somebody with this name or address did it, or it was done to them. */
async function isOfPerson(ctx: Ctx, person: string): Promise<SQL> {
  const { rows } = await ctx.db.execute<{ id: string }>(sql`
    (select ${users.id} as id from ${users} where ${or(contains(users.name, person), contains(users.email, person))}
      order by ${users.id} limit ${MOST_NAMED})
    union all (select ${agents.id} from ${agents} where ${contains(agents.name, person)}
      order by ${agents.id} limit ${MOST_NAMED})`)
  const ids = idList(rows.map(({ id }) => id))
  return or(
    anyOf(events.actorId, ids),
    anyOf(events.actorForId, ids),
    anyOf(events.userId, ids),
    sql`(${impersonatorId})::uuid = any(${ids}::uuid[])`,
  )
}
