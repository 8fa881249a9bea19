import { asc, eq, isNull, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { admin, anyone } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { visibleText } from '../../text/text.ts'
import { requireSitePicture } from '../uploads/site.ts'
import { sponsorCreated, sponsorDeleted, sponsorUpdated } from './events.ts'
import type { PublicSponsorList, Sponsor, SponsorCreate, SponsorPage, SponsorPatch, SponsorQuery } from './schema.ts'
import { sponsors, tiers } from './table.ts'

const sponsorColumns = {
  id: sponsors.id,
  createdAt: sponsors.createdAt,
  updatedAt: sponsors.updatedAt,
  version: sponsors.version,
  name: sponsors.name,
  url: sponsors.url,
  description: sponsors.description,
  tier: sponsors.tier,
  position: sponsors.position,
  active: sponsors.active,
  logoId: sponsors.logoId,
}

async function findSponsor(ctx: Ctx, id: string): Promise<Sponsor> {
  const [found] = await ctx.db
    .select(sponsorColumns)
    .from(sponsors)
    .where(and(eq(sponsors.id, id), isNull(sponsors.deletedAt)))
  if (!found) throw notFound('sponsor', id)
  return found
}

const cleanSponsor = <T extends SponsorPatch>(input: T): T => ({
  ...input,
  ...(input.name !== undefined && { name: visibleText(input.name).trim() }),
  ...(input.description && { description: visibleText(input.description) }),
})

export const list = read('sponsors.list', admin, async (ctx, query: SponsorQuery): Promise<SponsorPage> => {
  const orders = { createdAt: sponsors.createdAt, updatedAt: sponsors.updatedAt }
  const page = keyset(orders, sponsors.id, query, { sort: 'createdAt' })
  const filters = and(isNull(sponsors.deletedAt), query.search ? contains(sponsors.name, query.search) : undefined)
  const rows = await ctx.db
    .select(sponsorColumns)
    .from(sponsors)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(sponsors, filters) : undefined)
})

export const create = write('sponsors.create', admin, async (ctx, input: SponsorCreate): Promise<Sponsor> => {
  if (input.logoId) await requireSitePicture(ctx, input.logoId)
  const [made] = await ctx.db
    .insert(sponsors)
    .values({ tier: 'bronze', ...cleanSponsor(input), createdAt: ctx.now, updatedAt: ctx.now })
    .returning(sponsorColumns)
  if (!made) throw new Error('insert returned nothing')
  ctx.emit(sponsorCreated, { subjectId: made.id, data: { name: made.name } })
  return made
})

export const update = write(
  'sponsors.update',
  admin,
  async (ctx, { id, ...patch }: SponsorPatch & { id: string }): Promise<Sponsor> => {
    const before = await findSponsor(ctx, id)
    checkVersion(ctx, before)
    if (patch.logoId) await requireSitePicture(ctx, patch.logoId)
    const after = await updateVersioned(ctx, sponsors, {
      columns: sponsorColumns,
      before,
      set: cleanSponsor(patch),
      what: 'this sponsor',
      again: () => findSponsor(ctx, id),
    })
    ctx.emit(sponsorUpdated, { subjectId: id, data: { name: after.name, fields: Object.keys(patch) } })
    return after
  },
  { versioned: true },
)

export const remove = write(
  'sponsors.remove',
  admin,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findSponsor(ctx, id)
    checkVersion(ctx, before)
    await ctx.db
      .update(sponsors)
      .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${sponsors.version} + 1` })
      .where(eq(sponsors.id, id))
    ctx.emit(sponsorDeleted, { subjectId: id, data: { name: before.name } })
    return { id, deleted: true }
  },
  { versioned: true, destructive: true },
)

/** Returns the active sponsors, by tier and in the order that administrators chose. */
export const listPublic = read(
  'sponsors.listPublic',
  anyone,
  async (ctx, _: Record<string, never>): Promise<PublicSponsorList> => {
    const rows = await ctx.db
      .select(sponsorColumns)
      .from(sponsors)
      .where(and(eq(sponsors.active, true), isNull(sponsors.deletedAt)))
      .orderBy(asc(sponsors.position), asc(sponsors.name), sponsors.id)
      .limit(500)
    const items = rows
      .toSorted((a, b) => tiers.indexOf(a.tier) - tiers.indexOf(b.tier))
      .map(({ name, url, description, tier, logoId }) => ({
        name,
        url,
        description,
        tier,
        logo: logoId && `/uploads/${logoId}`,
      }))
    return { items }
  },
)
