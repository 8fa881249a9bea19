import { and, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Actor } from '../auth/actor.ts'
import { roleRefusal, throwIfRefused } from '../auth/policy.ts'
import { rightsOf } from '../auth/rights.ts'
import { or } from '../db/conditions.ts'
import type { Db } from '../db/session.ts'
import type { EventType } from '../events/catalogue.ts'
import { events } from '../events/table.ts'

/** Hours in which a user may restore a record that they deleted; administrators have RESTORE_DAYS. */
const OWN_HOURS = 24
export const ownDeletionsSince = (now: string): string =>
  new Date(Date.parse(now) - OWN_HOURS * 3_600_000).toISOString()
export const ownRestoreUntil = (deletedAt: string): string =>
  new Date(Date.parse(deletedAt) + OWN_HOURS * 3_600_000).toISOString()

/** The caller caused the event. A person also counts as the author of what their agents did. */
export const isOwnEvent = (actor: Actor): SQL =>
  actor.agent
    ? (and(eq(events.actorKind, 'agent'), eq(events.actorId, actor.agent.id)) ?? sql`false`)
    : or(eq(events.actorId, rightsOf(actor).user), eq(events.actorForId, rightsOf(actor).user))

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
 * THE RULE who may restore a record: administrators of the team, and for 24 hours the user who deleted it. `deletion`
 * is the event that deleted it. A record that is not deleted is never refused, so that a repeated restore succeeds: the
 * action itself checks who may change the record.
 */
export async function requireRestorer(ctx: Call, gone: Gone, deletion: EventType, what: string): Promise<void> {
  const { id, organizationId, deletedAt } = gone
  if (deletedAt === null) return
  const refusal = roleRefusal(ctx.actor, organizationId, 'admin', what)
  if (refusal && (await hasDeleted(ctx, id, deletedAt, deletion))) return
  throwIfRefused(refusal)
}

/** Whether the caller deleted exactly this record, not one that it belongs to, in its last deletion. */
async function hasDeleted(ctx: Call, id: string, deletedAt: string, deletion: EventType): Promise<boolean> {
  const [last] = await ctx.db
    .select({ own: sql<boolean>`${isOwnEvent(ctx.actor)}` })
    .from(events)
    .where(
      and(
        eq(events.subjectId, id),
        eq(events.type, deletion.name),
        eq(events.at, deletedAt),
        gt(events.at, ownDeletionsSince(ctx.now)),
      ),
    )
    .orderBy(sql`${events.seq} desc`)
    .limit(1)
  return last?.own === true
}
