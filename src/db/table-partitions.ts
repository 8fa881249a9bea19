import type { Queryable } from './driver.ts'

/** A part of a table that is divided by ranges of numbers. The newest has no end, so a number always has a place. */
export interface TablePartition {
  readonly name: string
  /** Undefined: everything below its end. */
  readonly from?: number
  readonly to?: number
}

/** Returns the parts of a divided table, oldest first; undefined of any other. */
export async function listPartitions(on: Queryable, table: string): Promise<TablePartition[] | undefined> {
  const { rows } = await on.query(
    `select p.relname::text, pg_get_expr(p.relpartbound, p.oid) from pg_class c
    left join pg_inherits i on i.inhparent = c.oid left join pg_class p on p.oid = i.inhrelid
    where c.oid = to_regclass(quote_ident($1)) and c.relkind = 'p'`,
    [table],
  )
  if (rows.length === 0) return undefined
  const parts = rows.flatMap(([name, bounds]): TablePartition[] => {
    // A table without any part has one row without a name.
    if (name === null) return []
    const [, from, to] = /FROM \('?(\d+|MINVALUE)'?\) TO \('?(\d+|MAXVALUE)'?\)/.exec(String(bounds)) ?? []
    return [
      {
        name: String(name),
        ...(from !== 'MINVALUE' && { from: Number(from) }),
        ...(to !== 'MAXVALUE' && { to: Number(to) }),
      },
    ]
  })
  return parts.sort((a, b) => (a.from ?? 0) - (b.from ?? 0))
}
