import { inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../../action.ts'
import { and } from '../../../db/conditions.ts'
import { projectColumn, type SearchKind } from '../../../records/kind.ts'
import type { SearchName } from '../../../records/names.ts'
import type { Searchable } from './passages.ts'

export const isLive = ({ table }: SearchKind): SQL | undefined =>
  table.deletedAt ? isNull(table.deletedAt) : undefined

/** Excludes records without an owner, which a removed account may leave behind. */
export const hasOwner = ({ table, search }: SearchKind): SQL =>
  sql`coalesce(${table.organizationId}, ${search.userId ?? null}::uuid) is not null`

/** Loads the findable records among these, in the form that passages need. */
export async function loadRecords(ctx: Ctx, source: SearchKind, ids: readonly string[]): Promise<Searchable[]> {
  const { table, search } = source
  const kind = source.kind as SearchName
  const rows = await ctx.db
    .select({
      recordId: table.id,
      organizationId: table.organizationId,
      userId: sql<string | null>`${search.userId ?? null}::uuid`,
      projectId: sql<string | null>`${projectColumn(source) ?? null}::uuid`,
      title: sql<string>`${search.title ?? source.title}`,
      text: sql<string>`coalesce(${search.text}, '')`,
      tags: search.tags ?? sql<string[]>`'{}'::text[]`.mapWith(() => []),
      at: table.updatedAt,
      expiresAt: search.expiresAt ? sql`${search.expiresAt}`.mapWith(table.updatedAt) : sql<null>`null`,
    })
    .from(table as PgTable)
    .where(and(inArray(table.id, [...ids]), isLive(source), hasOwner(source)))
  return rows.map((row) => ({ ...row, kind }) as Searchable)
}
