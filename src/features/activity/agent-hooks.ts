import { desc, eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { events } from '../../events/table.ts'
import { feedColumns, isReadableEvent, toFeedEntry } from '../../records/feed.ts'
import { agentParts } from '../agents/hooks.ts'
import type { Agent, AgentDetail } from '../agents/schema.ts'
import { featureAdvanced } from '../workflow/events.ts'
import { visibleEvents } from './service.ts'

const MOST_EVENTS = 10

export const agentActivity = agentParts.handle(async (ctx, { agent }) => ({
  recentActivity: await activityOf(ctx, agent),
  gatesPassed: await ctx.db.$count(
    events,
    and(causedBy(agent), eq(events.type, featureAdvanced.name), visibleEvents(ctx)),
  ),
}))

const causedBy = ({ id }: Agent) => and(eq(events.actorKind, 'agent'), eq(events.actorId, id))

/** Returns the last events that the agent caused or that changed it. */
async function activityOf(ctx: Ctx, agent: Agent): Promise<AgentDetail['recentActivity']> {
  const columns = { ...feedColumns, seq: events.seq }
  const done = await ctx.db
    .select(columns)
    .from(events)
    .where(and(causedBy(agent), visibleEvents(ctx)))
    .orderBy(desc(events.seq))
    .limit(MOST_EVENTS)
  // Anyone can read a public agent, but only its team sees who changed it.
  const own = agent.organizationId
    ? ctx.actor.memberships.has(agent.organizationId)
    : agent.createdById === ctx.actor.userId
  const underwent = own
    ? await ctx.db
        .select(columns)
        .from(events)
        // Leaves out events from the time when it was a personal agent.
        .where(
          and(
            eq(events.subjectId, agent.id),
            agent.organizationId ? eq(events.organizationId, agent.organizationId) : undefined,
            isReadableEvent(ctx),
            // A credential that is limited to projects sees no event without one.
            ctx.actor.projects ? visibleEvents(ctx) : undefined,
          ),
        )
        .orderBy(desc(events.seq))
        .limit(MOST_EVENTS)
    : []
  const all = new Map([...done, ...underwent].map((event) => [event.seq, event]))
  return [...all.values()]
    .sort((a, b) => b.seq - a.seq)
    .slice(0, MOST_EVENTS)
    .map(({ seq: _, ...event }) => toFeedEntry(ctx.app.events, event))
}
