import { eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { isAfterPosition } from '../../events/reader.ts'
import { events } from '../../events/table.ts'
import { jobs } from '../../jobs/table.ts'
import type { SearchName } from '../../records/names.ts'
import { followedEvents, readPosition } from './indexing/indexing.ts'

const MOST_COUNTED = 1000

interface IndexLag {
  indexing?: { behind: number }
}

/**
 * Reports how far the index is behind: the number of changes to records of these kinds, in the caller's teams, that are
 * not indexed yet. `unembedded`: passages that could only be compared by their words; they count while a job computes
 * vectors. Empty if the index is complete. Memories are indexed by their own write.
 */
export async function indexLag(ctx: Ctx, kinds: readonly SearchName[], unembedded = 0): Promise<IndexLag> {
  const names = new Set<string>(kinds)
  const isFollowed = ctx.app.records.followed.some(({ kind }) => names.has(kind))
  if (!isFollowed && unembedded === 0) return {}
  const running = await ctx.db
    .selectDistinct({ name: jobs.name })
    .from(jobs)
    .where(and(inArray(jobs.state, ['waiting', 'active']), eq(jobs.key, 'all'), sql`${jobs.name} like 'search.%'`))
  const runs = (name: string) => running.some((job) => job.name === name)
  const missing =
    (isFollowed ? await countUnread(ctx, names) : 0) +
    // The full comparison after the first start with records that are older than the index.
    (isFollowed && runs('search.compare') ? 1 : 0) +
    (runs('search.embed') ? unembedded : 0)
  return missing > 0 ? { indexing: { behind: missing } } : {}
}

async function countUnread(ctx: Ctx, kinds: ReadonlySet<string>): Promise<number> {
  const from = await readPosition(ctx)
  if (!from) return 1
  const { reach, user, projects } = rightsOf(ctx.actor)
  const isInReach = ctx.actor.projects
    ? anyOf(events.projectId, projects)
    : or(anyOf(events.organizationId, reach), eq(events.userId, user))
  const types = followedEvents(ctx.app, (kind) => kinds.has(kind))
  const some = ctx.db
    .select({ seq: events.seq })
    .from(events)
    .where(and(isAfterPosition(from, MOST_COUNTED), inArray(events.type, types), isInReach))
    .limit(MOST_COUNTED)
  return ctx.db.$count(some.as('unread'))
}
