import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { byRow } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { events } from '../../events/table.ts'
import { statuses } from '../../records/task-states.ts'
import { oauthGrants } from '../grants/table.ts'
import { visibleTo as visibleNotes } from '../notes/rows.ts'
import { notes } from '../notes/table.ts'
import { get } from '../organizations/service.ts'
import { memberships } from '../organizations/table.ts'
import { visibleTo as visibleProjects } from '../projects/rows.ts'
import { projects } from '../projects/table.ts'
import { taskCompleted } from '../tasks/events.ts'
import { taskCounts } from '../tasks/table.ts'
import { mcpTokens } from '../tokens/table.ts'
import { users } from '../users/table.ts'
import { isVisibleIn } from './activity.ts'
import { countedEvents } from './days.ts'
import type { Analytics, AnalyticsQuery } from './schema.ts'

const DAY = 86_400_000
const CONTRIBUTORS = 10

/** Counts only records that the caller may see, so that the numbers reveal nothing else. Days are in UTC. */
export const getAnalytics = read(
  'teams.analytics',
  byRow('organizations:read'),
  async (ctx, { id, days = 30 }: AnalyticsQuery & { id: string }): Promise<Analytics> => {
    await get(ctx, { id })
    const today = Date.parse(`${ctx.now.slice(0, 10)}T00:00:00.000Z`)
    const dates = Array.from({ length: days }, (_, i) =>
      new Date(today - (days - 1 - i) * DAY).toISOString().slice(0, 10),
    )
    const from = `${dates[0]}T00:00:00.000Z`
    return { days, from, ...(await countRecords(ctx, id)), ...(await countActivity(ctx, id, from, dates)) }
  },
  { replica: true },
)

async function countRecords(
  ctx: Ctx,
  id: string,
): Promise<Pick<Analytics, 'members' | 'projects' | 'tasks' | 'notes'>> {
  const rights = rightsOf(ctx.actor)
  const inTeam = sql`from ${projects} where ${projects.organizationId} = ${id} and ${visibleProjects(rights)}`
  const { rows } = await ctx.db.execute<{ kind: string; n: number }>(sql`
    select 'members' as kind, count(*)::int as n from ${memberships} where ${eq(memberships.organizationId, id)}
    union all select 'project ' || ${projects.status}, count(*)::int ${inTeam} group by ${projects.status}
    union all select 'task ' || ${taskCounts.status}, sum(${taskCounts.n})::int from ${taskCounts}
      where ${taskCounts.projectId} in (select ${projects.id} ${inTeam}) group by ${taskCounts.status}
    union all select 'notes', count(*)::int from ${notes}
      where ${notes.organizationId} = ${id} and ${visibleNotes(rights)}`)
  const found = new Map(rows.map((r) => [r.kind, r.n]))
  const number = (kind: string) => found.get(kind) ?? 0
  return {
    members: number('members'),
    projects: { active: number('project active'), archived: number('project archived') },
    tasks: Object.fromEntries(statuses.map((status) => [status, number(`task ${status}`)])) as Analytics['tasks'],
    notes: number('notes'),
  }
}

type ActivityCounts = Pick<Analytics, 'completed' | 'changes' | 'activeMembers' | 'contributors'>
type Row = { day: string | null; kind: string | null; actor: string | null; changes: number; completed: number }

async function countActivity(ctx: Ctx, id: string, from: string, dates: string[]): Promise<ActivityCounts> {
  // Changes by an agent count for the user whose token it used, or who authorized it.
  const person = sql`case ${events.actorKind} when 'agent' then coalesce(
      (select ${mcpTokens.userId} from ${mcpTokens} where ${mcpTokens.id} = ${events.credentialId}),
      (select ${oauthGrants.userId} from ${oauthGrants} where ${oauthGrants.id} = ${events.credentialId}))
    else ${events.actorId} end`
  // Reads the events once for both groupings: by day and by user.
  const { rows } = await ctx.db.execute<Row>(sql`
    select day::text as day, ${events.actorKind} as kind, ${person} as actor, sum(n)::int as changes,
      coalesce(sum(n) filter (where ${eq(events.type, taskCompleted.name)}), 0)::int as completed
    from ${countedEvents(id, from)} where ${isVisibleIn(ctx, id)}
    group by grouping sets ((1, 2), (3))`)
  const byDay = Map.groupBy(
    rows.filter((r) => r.day !== null),
    (r) => r.day as string,
  )
  const sum = (list: Row[] | undefined, pick: (row: Row) => number) => (list ?? []).reduce((n, row) => n + pick(row), 0)
  const byActor = new Map(rows.flatMap((r) => (r.day === null && r.actor ? [[r.actor, r.changes] as const] : [])))
  const active = await ctx.db
    .select({ id: users.id, name: users.name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, id), anyOf(users.id, idList([...byActor.keys()]))))
  return {
    completed: dates.map((date) => ({ date, count: sum(byDay.get(date), (r) => r.completed) })),
    changes: dates.map((date) => ({
      date,
      people: sum(byDay.get(date), (r) => (r.kind === 'session' || r.kind === 'api_key' ? r.changes : 0)),
      agents: sum(byDay.get(date), (r) => (r.kind === 'mcp_token' || r.kind === 'agent' ? r.changes : 0)),
    })),
    activeMembers: active.length,
    contributors: active
      .map((member) => ({ ...member, changes: byActor.get(member.id) ?? 0 }))
      .sort((a, b) => b.changes - a.changes || a.name.localeCompare(b.name))
      .slice(0, CONTRIBUTORS),
  }
}
