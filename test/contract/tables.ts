import type { Driver } from '../../src/db/driver.ts'

/**
 * Columns that record when a credential was last used, which are written in the background, after refusals too; and the
 * proof of identity, which the tests themselves renew when they take long.
 */
const bookkeeping = ['last_seen_at', 'last_used_at', 'last_used_ip', 'use_count', 'authenticated_at']
/** Columns that change by themselves: mails of other files are sent, and an action that no machine accepts times out. */
const byThemselves: Record<string, { rows: string; columns: string[] }> = {
  mails: { rows: 'true', columns: ['status', 'attempts', 'error', 'sent_at', 'sealed'] },
  tunnel_actions: {
    rows: "state in ('queued', 'timed_out')",
    columns: ['state', 'finished_at', 'error', 'sealed'],
  },
}
/** Tables that are not compared: refused calls may or must write to them, or background work does. */
const skipped = [
  'events',
  'counters',
  // Calls are counted for each credential, refused ones too.
  'call_minutes',
  'jobs',
  'idempotency_keys',
  'refresh_tokens',
  // A server renews the entries of its open streams, also those that other files of the process left open.
  'stream_holders',
  'meta',
  'passages',
  'passage_signs',
  'passage_vectors',
]

async function tableNames(driver: Driver): Promise<string[]> {
  const { rows } = await driver.query(`select tablename from pg_tables where schemaname = 'public' order by tablename`)
  return rows.map((row) => String(row[0]))
}

/** Returns one hash for each table: equal before and after means that nothing was changed. */
export async function fingerprint(driver: Driver): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {}
  for (const table of (await tableNames(driver)).filter((name) => !skipped.includes(name))) {
    const changing = byThemselves[table]
    const { rows } = await driver.query(
      `select md5(coalesce(string_agg(row, ',' order by row), '')) from (
        select (to_jsonb(t) - $1::text[] - case when ${changing?.rows ?? false} then $2::text[] else '{}' end)::text as row
        from "${table}" t) rows`,
      [`{${bookkeeping.join(',')}}`, `{${(changing?.columns ?? []).join(',')}}`],
    )
    hashes[table] = String(rows[0]?.[0])
  }
  return hashes
}

/** Returns all stored rows as text. */
export async function dump(driver: Driver): Promise<string> {
  const lines: string[] = []
  for (const table of await tableNames(driver)) {
    const { rows } = await driver.query(`select to_jsonb(t)::text from "${table}" t`, [], { timeout: 30_000 })
    lines.push(...rows.map((row) => `${table} ${row[0]}`))
  }
  return lines.join('\n')
}

export async function columnNames(driver: Driver): Promise<string[]> {
  const { rows } = await driver.query(
    `select distinct column_name::text from information_schema.columns where table_schema = 'public' order by 1`,
  )
  return rows.map((row) => String(row[0]))
}
