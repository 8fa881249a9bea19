import { eq, sql } from 'drizzle-orm'
import { read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import * as projects from '../projects/rows.ts'
import { taskDays } from '../tasks/table.ts'
import type { Progress, ProgressQuery } from './schema.ts'

const DAY = 86_400_000
const DEFAULT_DAYS = 56

/** Returns, for each day, how many tasks the project had and how many of them were done. Days are in UTC. */
export const getProgress = read(
  'planning.progress',
  member('projects:read'),
  async (ctx, { ref, days: wanted = DEFAULT_DAYS }: ProgressQuery & { ref: string }): Promise<Progress> => {
    const { id } = await projects.findProject(ctx, ref)
    const today = Date.parse(`${ctx.now.slice(0, 10)}T00:00:00.000Z`)
    const date = (back: number) => new Date(today - back * DAY).toISOString().slice(0, 10)
    const from = date(wanted - 1)
    // What happened before the first day is one sum.
    const day = sql<string>`greatest(${taskDays.day}, ${date(wanted)}::date)::text`
    const sums = await ctx.db
      .select({
        day,
        scope: sql<number>`sum(${taskDays.scope})::int`,
        people: sql<number>`sum(${taskDays.people})::int`,
        agents: sql<number>`sum(${taskDays.agents})::int`,
      })
      .from(taskDays)
      .where(eq(taskDays.projectId, id))
      .groupBy(sql`1`)
    const byDay = new Map(sums.map((row) => [row.day, row]))
    const total = { scope: 0, people: 0, agents: 0 }
    const days = Array.from({ length: wanted + 1 }, (_, place) => {
      const day = date(wanted - place)
      const added = byDay.get(day)
      total.scope += added?.scope ?? 0
      total.people += added?.people ?? 0
      total.agents += added?.agents ?? 0
      return { day, ...total, done: total.people + total.agents }
    })
    return { from, days: days.slice(1) }
  },
)
