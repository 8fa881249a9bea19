import { and, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import type { Searchable } from './passages.ts'
import type { Kind } from './schema.ts'

/** How a feature's records are found. It says so itself: search knows no table but its own. */
export interface Source {
  /** Also the first part of its events' names: `note.updated` is about a note. */
  kind: Kind
  table: PgTable &
    Record<'id' | 'updatedAt' | 'organizationId', PgColumn> & { projectId?: PgColumn; deletedAt?: PgColumn }
  title: PgColumn | SQL
  text: PgColumn | SQL
  tags?: PgColumn
  /** The project it is seen through, where that is not `projectId`. */
  projectId?: PgColumn
  /** The one person who may see it; null where others may too. */
  userId?: PgColumn | SQL
  /** Since when it no longer counts. */
  expiresAt?: SQL
}

export const live = ({ table }: Source): SQL | undefined => (table.deletedAt ? isNull(table.deletedAt) : undefined)

/** What an account left behind that is gone may belong to nobody. */
export const owned = ({ table, userId }: Source): SQL =>
  sql`coalesce(${table.organizationId}, ${userId ?? null}::uuid) is not null`

/** Whose record it is when it belongs to no organization. */
export const personal = (table: { organizationId: PgColumn; createdById: PgColumn }): SQL =>
  sql`case when ${table.organizationId} is null then ${table.createdById} end`

/** Those of these records that are there to be found. */
export async function load(ctx: Ctx, source: Source, ids: readonly string[]): Promise<Searchable[]> {
  const { kind, table } = source
  const rows = await ctx.db
    .select({
      recordId: table.id,
      organizationId: table.organizationId,
      userId: sql<string | null>`${source.userId ?? null}::uuid`,
      projectId: sql<string | null>`${source.projectId ?? table.projectId ?? null}::uuid`,
      title: sql<string>`${source.title}`,
      text: sql<string>`coalesce(${source.text}, '')`,
      tags: source.tags ?? sql<string[]>`'{}'::text[]`.mapWith(() => []),
      at: table.updatedAt,
      expiresAt: source.expiresAt ? sql`${source.expiresAt}`.mapWith(table.updatedAt) : sql<null>`null`,
    })
    .from(table as PgTable)
    .where(and(inArray(table.id, [...ids]), live(source), owned(source)))
  return rows.map((row) => ({ ...row, kind }) as Searchable)
}
