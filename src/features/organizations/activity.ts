import { and, eq, gte, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { keyset } from '../../db/page.ts'
import { events } from '../../events/table.ts'
import { visibleTo } from '../projects/service.ts'
import { projects } from '../projects/table.ts'
import type { ActivityPage, ActivityQuery } from './schema.ts'
import { get } from './service.ts'

/**
 * What happened in a team, as far as the caller may see it today: nothing of projects that are hidden from him or gone, nothing that was
 * meant for one person, and nothing that is only for the audit (there the event is called like the action).
 */
export const seenIn = (ctx: Ctx, organizationId: string): SQL =>
  and(
    eq(events.organizationId, organizationId),
    ne(events.type, events.action),
    or(isNull(events.userId), eq(events.userId, userIdOf(ctx.actor))),
    // Asked once, not for every event.
    sql`(${events.projectId} is null or ${events.projectId} in (select ${projects.id} from ${projects} where ${visibleTo(rightsOf(ctx.actor))}))`,
  ) as SQL

export const activity = read(
  'organizations.activity',
  account('organizations:read'),
  async (ctx, { id, ...query }: ActivityQuery & { id: string }): Promise<ActivityPage> => {
    await get(ctx, { id })
    const page = keyset({ seq: events.seq }, events.id, query, { sort: 'seq' })
    const rows = await ctx.db
      .select({
        seq: events.seq,
        id: events.id,
        type: events.type,
        at: events.at,
        actorKind: events.actorKind,
        actorId: events.actorId,
        actorName: events.actorName,
        projectId: events.projectId,
        subjectId: events.subjectId,
        data: events.data,
      })
      .from(events)
      .where(
        page.where(
          seenIn(ctx, id),
          query.type === undefined ? undefined : eq(events.type, query.type),
          query.actorId === undefined ? undefined : eq(events.actorId, query.actorId),
          query.since === undefined ? undefined : gte(events.at, query.since),
          query.until === undefined ? undefined : lt(events.at, query.until),
        ),
      )
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const { items, nextCursor } = page.page(rows)
    return {
      items: items.map(({ seq: _, actorKind, actorId, actorName, ...event }) => ({
        ...event,
        actor: { type: actorKind === 'system' ? ('system' as const) : ('user' as const), id: actorId, name: actorName },
      })),
      nextCursor,
    }
  },
)
