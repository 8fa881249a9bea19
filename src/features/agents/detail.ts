import { and, desc, eq, notInArray } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { member, scopeHolds } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { feedColumns, feedEntry } from '../../events/feed.ts'
import { events } from '../../events/table.ts'
import { seenBy } from '../activity/service.ts'
import * as memory from '../memory/rows.ts'
import { memories } from '../memory/table.ts'
import * as tasks from '../tasks/rows.ts'
import { tasks as taskTable } from '../tasks/table.ts'
import type { Agent, AgentDetail } from './schema.ts'
import { resolve } from './service.ts'

const ACTIVITY = 10
const MEMORIES = 5
const TASKS = 20

/** With what it did and remembers and has to do, of that what the caller may see. */
export const detail = read(
  'agents.detail',
  member('agents:read'),
  async (ctx, { ref }: { ref: string }): Promise<AgentDetail> => {
    const agent = await resolve(ctx, ref)
    // A credential that may read agents and not memories does not get at them this way.
    const may = (scope: string) => scopeHolds(ctx.actor.scopes, scope)
    const [recentActivity, recentMemories, openTasks] = await Promise.all([
      activityOf(ctx, agent),
      may('memories:read') ? memoriesOf(ctx, agent.id) : [],
      may('tasks:read') ? tasksOf(ctx, agent.id) : [],
    ])
    return { ...agent, recentActivity, recentMemories, openTasks }
  },
)

async function activityOf(ctx: Ctx, agent: Agent): Promise<AgentDetail['recentActivity']> {
  const columns = { ...feedColumns, seq: events.seq }
  const did = await ctx.db
    .select(columns)
    .from(events)
    .where(and(eq(events.actorKind, 'agent'), eq(events.actorId, agent.id), seenBy(ctx)))
    .orderBy(desc(events.seq))
    .limit(ACTIVITY)
  // What is public is read by strangers; who did what to it is the team's business.
  const own = agent.organizationId
    ? ctx.actor.memberships.has(agent.organizationId)
    : agent.createdById === ctx.actor.userId
  const underwent = own
    ? await ctx.db
        .select(columns)
        .from(events)
        // Not what was done while it was somebody's own.
        .where(
          and(
            eq(events.subjectId, agent.id),
            agent.organizationId ? eq(events.organizationId, agent.organizationId) : undefined,
          ),
        )
        .orderBy(desc(events.seq))
        .limit(ACTIVITY)
    : []
  const all = new Map([...did, ...underwent].map((event) => [event.seq, event]))
  return [...all.values()]
    .sort((a, b) => b.seq - a.seq)
    .slice(0, ACTIVITY)
    .map(({ seq: _, ...event }) => feedEntry(ctx.app.events, event))
}

async function memoriesOf(ctx: Ctx, agentId: string): Promise<AgentDetail['recentMemories']> {
  const rows = await memory
    .select(ctx, and(eq(memories.scope, 'agent'), eq(memories.scopeId, agentId), memory.current(ctx.now)))
    .orderBy(desc(memories.updatedAt), desc(memories.id))
    .limit(MEMORIES)
  return rows.map(({ id, title, content, tags, updatedAt }) => ({
    id,
    title,
    excerpt: memory.excerptOf(content),
    tags,
    updatedAt,
  }))
}

async function tasksOf(ctx: Ctx, agentId: string): Promise<AgentDetail['openTasks']> {
  const rows = await tasks
    .selectItems(ctx)
    .where(
      and(
        eq(taskTable.assigneeType, 'agent'),
        eq(taskTable.assigneeId, agentId),
        notInArray(taskTable.status, ['done', 'cancelled']),
        tasks.visibleTo(rightsOf(ctx.actor)),
      ),
    )
    .orderBy(desc(taskTable.updatedAt), desc(taskTable.id))
    .limit(TASKS)
  return rows.map((row) => {
    const { id, key, title, status, priority, projectId } = tasks.toItem(row, ctx.now)
    return { id, key, title, status, priority, projectId }
  })
}
