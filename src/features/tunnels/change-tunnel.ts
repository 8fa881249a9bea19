import { eq, gt, isNull, lte, ne } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { randomTail } from '../../auth/secrets.ts'
import { newId } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { daysAfter } from '../../records/days.ts'
import { updateVersioned } from '../../records/rows.ts'
import { slugify } from '../../text/text.ts'
import { tunnelUpdated } from './events.ts'
import { findTunnel, type TunnelRow, tunnelEvent } from './rows.ts'
import type { Access, TunnelPatch } from './schema.ts'
import { tunnelFormerSlugs, tunnels } from './table.ts'

/** Days for which the slug of a deleted or renamed tunnel is reserved for its owner: its address may be bookmarked. */
const REST_DAYS = 7
const reservedSince = ({ now }: Ctx): string => daysAfter(now, -REST_DAYS)

/** Changes the given fields. The caller has checked the permission. */
export async function changeTunnel(ctx: Ctx, before: TunnelRow, patch: TunnelPatch): Promise<TunnelRow> {
  checkPublic(ctx, patch.access)
  if (patch.slug !== undefined) await requireUnusedSlug(ctx, patch.slug, before.id)
  await updateVersioned(ctx, tunnels, {
    columns: { id: tunnels.id, version: tunnels.version },
    before: { id: before.id, version: before.version },
    set: { ...patch, ...(patch.name !== undefined && { name: patch.name.trim() }) },
    what: 'this tunnel',
    again: () => findTunnel(ctx, before.id),
  })
  if (patch.slug !== undefined && patch.slug !== before.slug) await reserveSlug(ctx, before)
  const after = await findTunnel(ctx, before.id)
  ctx.emit(tunnelUpdated, tunnelEvent(after, { fields: Object.keys(patch) }))
  return after
}

/** Also deletes expired reservations, so that the table stays small. */
async function reserveSlug(ctx: Ctx, { slug, ownerId }: TunnelRow): Promise<void> {
  await ctx.db.delete(tunnelFormerSlugs).where(lte(tunnelFormerSlugs.leftAt, reservedSince(ctx)))
  await ctx.db.insert(tunnelFormerSlugs).values({ id: newId(), slug, ownerId, leftAt: ctx.now })
}

export function checkPublic({ app }: Ctx, access: Access | undefined): void {
  if (access === 'public' && app.config.TUNNEL_PUBLIC !== 'on')
    throw new AppError('forbidden', 'Public tunnels are switched off on this server (TUNNEL_PUBLIC).')
}

export async function availableSlug(ctx: Ctx, name: string): Promise<string> {
  const base = slugify(name).slice(0, 22).replace(/-+$/, '') || 'tunnel'
  return (await isTaken(ctx, base)) ? `${base}-${randomTail()}` : base
}

/** Returns the slug; throws if another tunnel uses it, or if it is reserved for someone else. */
export async function requireUnusedSlug(ctx: Ctx, slug: string, except?: string): Promise<string> {
  if (await isTaken(ctx, slug, except))
    throw new AppError('conflict.exists', `The slug ${slug} is in use or was until recently. Choose another one.`)
  return slug
}

async function isTaken(ctx: Ctx, slug: string, except?: string): Promise<boolean> {
  const [rested, userId] = [reservedSince(ctx), userIdOf(ctx.actor)]
  const restsForOthers = and(gt(tunnels.deletedAt, rested), ne(tunnels.ownerId, userId))
  const others = except === undefined ? undefined : ne(tunnels.id, except)
  const where = and(eq(tunnels.slug, slug), or(isNull(tunnels.deletedAt), restsForOthers), others)
  if ((await ctx.db.$count(tunnels, where)) > 0) return true
  const { leftAt, ownerId, slug: former } = tunnelFormerSlugs
  return (await ctx.db.$count(tunnelFormerSlugs, and(eq(former, slug), gt(leftAt, rested), ne(ownerId, userId)))) > 0
}
