import { eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Actor, currentOrganization, seesPersonal, userIdOf } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { changes } from './table.ts'

export const changeReadRule = member('tasks:read')

/** SQL condition: a job makes or undoes the change. */
const isUnderWay = sql`${changes.state} in ('running', 'undoing')`

/** A credential that is limited to a team or to projects sees only its own changes. */
const isOwn = (actor: Actor, now: string): SQL =>
  and(
    eq(changes.userId, userIdOf(actor)),
    or(gt(changes.expiresAt, now), isUnderWay),
    seesPersonal(actor) ? undefined : isOfCredential(actor),
  )
export const ownedBy = (actor: Actor, now: string): SQL =>
  and(isOwn(actor, now), eq(changes.organizationId, currentOrganization(actor)))
/** Of any of the person's teams: a connection is not bound to one. */
export const watchableBy = (actor: Actor, now: string): SQL =>
  and(isOwn(actor, now), anyOf(changes.organizationId, idList([...actor.memberships.keys()])))
export const isOfCredential = ({ credentialId }: Actor): SQL => eq(changes.credentialId, credentialId as string)

/** How long a change can be undone. */
const KEEP_MINUTES = 60
export const expiryFrom = (now: string): string => new Date(Date.parse(now) + KEEP_MINUTES * 60_000).toISOString()

/** The columns of a change, without the list of its tasks. */
const changeColumns = {
  id: changes.id,
  label: changes.label,
  state: changes.state,
  createdAt: changes.createdAt,
  expiresAt: changes.expiresAt,
  undoneAt: changes.undoneAt,
}

export const selectChanges = ({ db }: Ctx) => db.select(changeColumns).from(changes).$dynamic()
export type ChangeRow = Awaited<ReturnType<typeof selectChanges>>[number]

export async function findChange(ctx: Ctx, id: string): Promise<ChangeRow> {
  const [row] = await selectChanges(ctx).where(and(eq(changes.id, id), ownedBy(ctx.actor, ctx.now)))
  if (!row) throw notFound('change', id, 'among your changes of the last hour')
  return row
}
