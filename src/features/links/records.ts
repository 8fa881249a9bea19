import { type Column, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { pathOf, projectOf } from '../../records/kind.ts'
import type { RecordName } from '../../records/names.ts'
import { mayRead } from '../../records/readable.ts'
import type { End } from './schema.ts'

export interface Found extends End {
  organizationId: string | null
  projectId: string | null
  ownerId: string | null
}

/** Returns those of these records that the caller sees. */
export async function lookUp(ctx: Ctx, type: RecordName, ids: readonly string[]): Promise<Found[]> {
  const record = ctx.app.records.get(type)
  if (!mayRead(ctx, type)) return []
  const { table, visible, title, ownerId } = record
  const { rows } = await ctx.db.execute<Omit<Found, 'type'>>(sql`
    select ${table.id} as id, ${title} as title, ${pathOf(record)} as path, ${table.organizationId} as "organizationId",
      ${projectOf(record) ?? null}::uuid as "projectId", ${ownerId ?? null}::uuid as "ownerId"
    from ${table} where ${anyOf(table.id, idList(ids))} and ${visible(rightsOf(ctx.actor))}`)
  return rows.map((row) => ({ ...row, type }))
}

/** SQL condition for queries over links: this end no longer exists for anyone. */
export const isGone = ({ app }: Ctx, type: Column, id: Column): SQL =>
  sql`case ${type} ${sql.join(
    app.records.all.map(
      ({ kind, table }) => sql`when ${kind} then not exists (select 1 from ${table} where ${table.id} = ${id})`,
    ),
    sql` `,
  )} else false end`
