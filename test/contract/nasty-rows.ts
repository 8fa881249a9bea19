import type { TestApp } from '../support/app.ts'

/** One more than a page can have. */
const PAGE = 201
/** A user cannot have this many of these, or their rows cannot be copied. */
const few = new Set([
  'task_counts',
  'task_days',
  'event_days',
  'integrations',
  'connected_accounts',
  'invites',
  'workspace_invites',
  'users',
  'passages',
  'meta',
])

type Column = [table: string, name: string, type: string, unique: boolean]

/**
 * Copies the largest row of each table until there are more than a page. Made by SQL, because the web API would take
 * minutes. A copy of a long text is quotation marks, which are longest in JSON and quick to index.
 */
export async function multiplyRows({ app: { driver } }: TestApp): Promise<void> {
  const { rows } = await driver.query(`
    select c.table_name::text, c.column_name::text, c.data_type::text, exists (
      select 1 from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
      where i.indrelid = c.table_name::regclass and i.indisunique and a.attname = c.column_name)
    from information_schema.columns c
    where c.table_schema = 'public' and c.is_generated = 'NEVER' and c.is_identity = 'NO'
    order by c.table_name, c.ordinal_position`)
  const tables = Map.groupBy(rows as Column[], ([table]) => table)
  for (const [table, columns] of tables) {
    if (few.has(table) || !columns.some(([, name]) => name === 'id')) continue
    const names = columns.map(([, name]) => `"${name}"`).join()
    await driver.query(`insert into "${table}" (${names})
      select ${columns.map(copiedColumn).join()} from (select * from "${table}" t order by pg_column_size(t) desc limit 1) t,
        generate_series(1, (select greatest(0, ${PAGE} - count(*)) from "${table}")) n`)
  }
  // As the server's own maintenance does after so many changes.
  await driver.exec('analyze')
}

/** The value of a column in the copy number `n`. What must be unique gets the number. */
function copiedColumn([, name, type, unique]: Column): string {
  // Of the credential of a tunnel, which no other row names.
  if (name === 'token_id' && unique) return 'gen_random_uuid()'
  if (name === 'id') return type === 'uuid' ? 'gen_random_uuid()' : '"id" || n'
  if (name === 'key')
    return `case when "key" ~ '^[A-Z]+$' then translate(to_char(n, 'FM000'), '0123456789', 'ABCDEFGHIJ') else "key" || n end`
  if (type === 'integer' && unique) return `"${name}" + n * 1000`
  if (type !== 'text') return `"${name}"`
  if (unique) return `left("${name}", 40) || '-' || n`
  const long = `repeat('"', least(length("${name}"), 8000))`
  return `case when length("${name}") > 300 then ${long} else "${name}" end`
}
