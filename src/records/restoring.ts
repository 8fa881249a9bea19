import { and, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Actor } from '../auth/actor.ts'
import { refuse, roleRefusal } from '../auth/policy.ts'
import { rightsOf } from '../auth/rights.ts'
import { or } from '../db/conditions.ts'
import type { Db } from '../db/session.ts'
import type { EventType } from '../events/catalogue.ts'
import { events } from '../events/table.ts'

/** For so long the one who deleted a record may restore it; administrators have RESTORE_DAYS. */
const OWN_HOURS = 24
export const ownSince = (now: string): string => new Date(Date.parse(now) - OWN_HOURS * 3_600_000).toISOString()
export const ownUntil = (deletedAt: string): string =>
  new Date(Date.parse(deletedAt) + OWN_HOURS * 3_600_000).toISOString()

/** The event is the caller's own doing. What an agent did is also the doing of the person it works for. */
export const isOwnDoing = (actor: Actor): SQL =>
  actor.agent
    ? (and(eq(events.actorKind, 'agent'), eq(events.actorId, actor.agent.id)) ?? sql`false`)
    : or(eq(events.actorId, rightsOf(actor).user), eq(events.actorForId, rightsOf(actor).user))

/** What the rule needs of a call: a `Ctx` has it. */
interface Call {
  readonly db: Db
  readonly actor: Actor
  readonly now: string
}

interface Gone {
  id: string
  organizationId: string
  /** Null: it is not deleted, and restoring it changes nothing. */
  deletedAt: string | null
}

/**
 * THE RULE who may restore: administrators of the team, and for 24 hours whoever deleted the record. `deletion` is the
 * event by which it was deleted. It refuses no one if the record is not deleted, so that a repeated restore succeeds:
 * the action itself checks who may change the record.
 */
export async function requireRestorer(ctx: Call, gone: Gone, deletion: EventType, what: string): Promise<void> {
  const { id, organizationId, deletedAt } = gone
  if (deletedAt === null) return
  const refusal = roleRefusal(ctx.actor, organizationId, 'admin', what)
  if (refusal && (await hasDeleted(ctx, id, deletedAt, deletion))) return
  refuse(refusal)
}

/** Whether the caller deleted the record itself, and last: not along with another, and not before it was restored. */
async function hasDeleted(ctx: Call, id: string, deletedAt: string, deletion: EventType): Promise<boolean> {
  const [last] = await ctx.db
    .select({ own: sql<boolean>`${isOwnDoing(ctx.actor)}` })
    .from(events)
    .where(
      and(
        eq(events.subjectId, id),
        eq(events.type, deletion.name),
        eq(events.at, deletedAt),
        gt(events.at, ownSince(ctx.now)),
      ),
    )
    .orderBy(sql`${events.seq} desc`)
    .limit(1)
  return last?.own === true
}
