import { type Column, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { projectColumn, recordPath } from '../../records/kind.ts'
import type { RecordName } from '../../records/names.ts'
import { readVisible } from '../../records/readable.ts'
import type { End } from './schema.ts'

export interface LinkEnd extends End {
  organizationId: string | null
  projectId: string | null
  ownerId: string | null
}

/** Returns those of these records that the caller sees. */
export async function findSeenRecords(ctx: Ctx, type: RecordName, ids: readonly string[]): Promise<LinkEnd[]> {
  const rows = await readVisible<Omit<LinkEnd, 'type'>>(ctx, type, ids, (record) => ({
    id: record.table.id,
    title: record.title,
    path: recordPath(record),
    organizationId: record.table.organizationId,
    projectId: sql`${projectColumn(record) ?? null}::uuid`,
    ownerId: sql`${record.ownerId ?? null}::uuid`,
  }))
  return rows.map((row) => ({ ...row, type }))
}

/** SQL condition for queries over links: this end no longer exists for anyone. */
export const isDeletedEnd = ({ app }: Ctx, type: Column, id: Column): SQL =>
  sql`case ${type} ${sql.join(
    app.records.all.map(
      ({ kind, table }) => sql`when ${kind} then not exists (select 1 from ${table} where ${table.id} = ${id})`,
    ),
    sql` `,
  )} else false end`
