import { eq, gte, lt, or, type SQL } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { byRow } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { events } from '../../events/table.ts'
import { feedColumns, toFeedEntry } from '../../records/feed.ts'
import { keyset } from '../../records/page.ts'
import { visibleEvents } from '../activity/service.ts'
import { get } from '../organizations/service.ts'
import type { ActivityPage, ActivityQuery } from './schema.ts'

/** Condition for events of a team that the caller may see now. */
export const isVisibleIn = (ctx: Ctx, organizationId: string): SQL =>
  and(eq(events.organizationId, organizationId), visibleEvents(ctx))

export const getActivity = read(
  'teams.activity',
  byRow('organizations:read'),
  async (ctx, { id, ...query }: ActivityQuery & { id: string }): Promise<ActivityPage> => {
    await get(ctx, { id })
    const page = keyset({ seq: events.seq }, events.id, query, { sort: 'seq' })
    const rows = await ctx.db
      .select({ ...feedColumns, seq: events.seq, projectId: events.projectId, subjectId: events.subjectId })
      .from(events)
      .where(
        page.where(
          isVisibleIn(ctx, id),
          query.type === undefined ? undefined : eq(events.type, query.type),
          query.actorId === undefined
            ? undefined
            : or(eq(events.actorId, query.actorId), eq(events.actorForId, query.actorId)),
          query.since === undefined ? undefined : gte(events.at, query.since),
          query.until === undefined ? undefined : lt(events.at, query.until),
        ),
      )
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const { items, nextCursor } = page.page(rows)
    return { items: items.map(({ seq: _, ...event }) => toFeedEntry(ctx.app.events, event)), nextCursor }
  },
)
