import { eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { type Actor, currentOrganization, seesPersonal } from '../../auth/actor.ts'
import { type Refusal, requireRole, roleRefusal, throwIfRefused } from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import type { EventType } from '../../events/catalogue.ts'
import type { Keyset, Page } from '../../records/page.ts'
import { requireRestorer } from '../../records/restore-rights.ts'
import { findByReference, idStartsWith, isRestorable } from '../../records/rows.ts'
import type { Author, Scope } from '../../records/scopes.ts'
import { isNotBySuspendedAuthor } from '../users/suspended.ts'
import { users } from '../users/table.ts'
import { hiddenRecords } from './hidden-table.ts'
import { organizations } from './table.ts'

/**
 * Table of records that are shared by scope, such as skills and agents. Personal: belongs to its author and to no
 * organization. Team: belongs to an organization. Public: everyone can read it; it still belongs to its organization,
 * or to its author if they published it without one.
 */
type SharedTable = PgTable & Record<'id' | 'slug' | 'scope' | 'organizationId' | 'createdById' | 'deletedAt', PgColumn>

interface SharedRow {
  id: string
  version: number
  organizationId: string | null
  createdById: string | null
  scope: Scope
}

/**
 * SQL condition with literals instead of parameters, so that Postgres can use the partial index. Records of a sandbox,
 * hidden records and those of a suspended author are not public.
 */
export const isPublic = (t: SharedTable): SQL =>
  sql`${t.scope} = 'public' and ${t.deletedAt} is null and (${t.organizationId} is null or exists (
    select 1 from ${organizations} where ${organizations.id} = ${t.organizationId}
      and ${organizations.deletedAt} is null and ${organizations.sandboxOf} is null))
    and not exists (select 1 from ${hiddenRecords} where ${hiddenRecords.recordId} = ${t.id})
    and ${isNotBySuspendedAuthor(t.createdById)}`

const isPersonal = (t: SharedTable, rights: Rights): SQL =>
  and(isNull(t.organizationId), eq(t.createdById, rights.personal), eq(t.scope, 'personal'))

/** The rows that a credential which is limited to projects sees. */
type SeenInLimit = (rights: Rights) => SQL

/**
 * SQL condition. Authors always see their records that no team owns, even if an administrator has hidden them. The
 * records belong to no project, so a credential that is limited to projects sees only those of `seenInLimit`.
 */
export const visibleTo = (t: SharedTable, rights: Rights, seenInLimit: SeenInLimit): SQL => {
  const own = and(isNull(t.organizationId), eq(t.createdById, rights.personal))
  const published = and(isPublic(t), sql`not ${rights.limited}::boolean`)
  return and(
    isNull(t.deletedAt),
    or(own, anyOf(t.organizationId, rights.organizations), published, seenInLimit(rights)),
  )
}

type Columns = Record<string, PgColumn | SQL>

async function findRow<R>(
  ctx: Ctx,
  table: SharedTable,
  columns: Columns,
  noun: string,
  ref: string,
  within: SQL | undefined,
): Promise<R> {
  const select = (match: SQL): Promise<R[]> =>
    rowsAs(
      ctx.db
        .select(columns)
        .from(table as PgTable)
        .where(and(match, within))
        .limit(2),
    )
  const found = await findByReference<R>(ref, {
    id: (id) => select(eq(table.id, id)),
    name: (slug) => select(eq(table.slug, slug.toLowerCase())),
    prefix: (prefix) => select(idStartsWith(table.id, prefix)),
  })
  if (!found) throw notFound(noun, ref)
  return found
}

/** Finds one of the visible rows by id, slug or unique id prefix. */
export const findShared = <R>(
  ctx: Ctx,
  table: SharedTable,
  columns: Columns,
  { noun, ref, visible }: { noun: string; ref: string; visible: SQL },
): Promise<R> => findRow(ctx, table, columns, noun, ref, visible)

/** Returns one condition for each wanted scope. Each of them can use its own index. */
export function scopeConditions(ctx: Ctx, table: SharedTable, wanted: readonly Scope[]): SQL[] {
  const { organizationId } = ctx.actor
  const all: Record<Scope, SQL | undefined> = {
    personal: isPersonal(table, rightsOf(ctx.actor)),
    // Without an organization there is no condition at all: an empty one would match every row.
    team: organizationId === null ? undefined : eq(table.organizationId, organizationId),
    public: isPublic(table),
  }
  return wanted.flatMap((scope) => all[scope] ?? [])
}

/** The scopes of a team's list: a token of a personal team also sees personal records. */
export const teamScopes = ({ ownSpace }: Actor): readonly Scope[] => (ownSpace ? ['personal', 'team'] : ['team'])

interface Listing {
  columns: Columns
  /** SQL condition for the rows that the caller sees. */
  visible: SQL
  page: Keyset
  parts: SQL[]
  filters: (SQL | undefined)[]
  total?: boolean
}

/** Lists the union of the parts. Each part stops at the limit; an OR of them would read and sort all rows. */
export async function listShared<R extends { id: string }>(
  ctx: Ctx,
  table: SharedTable,
  listing: Listing,
): Promise<Page<R>> {
  const { columns, page, parts, total } = listing
  if (parts.length === 0) return page.page<R>([], total ? 0 : undefined)
  const filters = [listing.visible, ...listing.filters]
  const orderBy = sql.join(page.orderBy, sql`, `)
  const first = parts.map(
    (part) =>
      sql`(select ${table.id} from ${table} where ${page.where(part, ...filters)}
        order by ${orderBy} limit ${page.limit})`,
  )
  const rows = await rowsAs<R>(
    ctx.db
      .select(columns)
      .from(table as PgTable)
      .where(sql`${table.id} in (${sql.join(first, sql` union all `)})`)
      .orderBy(...page.orderBy)
      .limit(page.limit),
  )
  return page.page(rows, total ? await ctx.db.$count(table, and(or(...parts), ...filters)) : undefined)
}

/**
 * Returns the owner that follows from the scope (default: the current team; without one, personal). A record of an
 * organization stays in it.
 */
export function ownerFor(
  { actor }: Ctx,
  noun: string,
  asked: Scope | undefined,
  before?: SharedRow,
): Pick<SharedRow, 'organizationId' | 'scope'> {
  const scope = asked ?? (actor.organizationId ? 'team' : 'personal')
  if (scope === 'personal') {
    if (!seesPersonal(actor))
      throw invalid('/scope', `This credential is bound to another team and cannot create a personal ${noun}.`)
    if (before && before.createdById !== actor.userId)
      throw new AppError('forbidden', `Only the author can make this ${noun} personal.`)
    return { organizationId: null, scope }
  }
  const organizationId =
    before?.organizationId ?? (scope === 'public' && !actor.bound ? actor.organizationId : currentOrganization(actor))
  if (organizationId) requireRole(actor, organizationId, 'member', `Making a ${noun} for the team`)
  return { organizationId, scope }
}

/**
 * Returns why the actor may not change the row, or undefined. Members change a team's row, the author or the team's
 * admins a public one, and only the author one that no team owns.
 */
export function writerRefusal({ actor }: Ctx, noun: string, row: SharedRow): Refusal | undefined {
  const own = row.createdById !== null && row.createdById === actor.userId
  if (row.organizationId) {
    const needed = row.scope === 'public' && !own ? 'admin' : 'member'
    return roleRefusal(actor, row.organizationId, needed, `Changing this ${noun}`)
  }
  if (own && seesPersonal(actor)) return undefined
  return { code: 'forbidden', detail: `Only the author can change this ${noun}.` }
}

export const requireWriter = (ctx: Ctx, noun: string, row: SharedRow): void =>
  throwIfRefused(writerRefusal(ctx, noun, row))

type Restorable<R> = R & { deletedAt: string | null }

/**
 * Finds a row that exists or was deleted in the last 30 days, and requires that the caller may restore it: a personal
 * one as its author.
 */
export async function findToRestore<R extends SharedRow>(
  ctx: Ctx,
  table: SharedTable,
  columns: Columns,
  noun: string,
  ref: string,
  deletion: EventType,
): Promise<{ row: Omit<Restorable<R>, 'deletedAt'>; deletedAt: string | null }> {
  const rights = rightsOf(ctx.actor)
  const own = and(isNull(table.organizationId), eq(table.createdById, rights.personal))
  const found = await findRow<Restorable<R>>(
    ctx,
    table,
    { ...columns, deletedAt: table.deletedAt },
    noun,
    ref,
    and(isRestorable(table.deletedAt, ctx.now), or(own, anyOf(table.organizationId, rights.organizations))),
  )
  const { organizationId, deletedAt } = found
  // Restoring a record that is not deleted changes nothing, and needs the same right as a change.
  if (deletedAt === null) requireWriter(ctx, noun, found)
  else if (organizationId) {
    requireRole(ctx.actor, organizationId, 'member', `Restoring a ${noun}`)
    await requireRestorer(ctx, { id: found.id, organizationId, deletedAt }, deletion, `Restoring a ${noun}`)
  }
  const { deletedAt: _, ...row } = found
  return { row, deletedAt }
}

/** Returns a public row with its author, for visitors without an account. */
export async function findPublicRow<R extends object>(
  ctx: Ctx,
  table: SharedTable,
  columns: Columns,
  noun: string,
  slug: string,
): Promise<R & { author: Author }> {
  const [found] = await rowsAs<{ row: R; handle: string | null; name: string | null }>(
    ctx.db
      .select({ row: columns, handle: users.handle, name: users.name })
      .from(table as PgTable)
      .leftJoin(users, eq(users.id, table.createdById))
      .where(and(eq(table.slug, slug.toLowerCase()), isPublic(table)))
      .limit(1),
  )
  if (!found) throw notFound(noun, slug)
  const { row, handle, name } = found
  return { ...row, author: handle && name ? { handle, name } : null }
}
