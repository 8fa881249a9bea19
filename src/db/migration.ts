/**
 * The first line of the SQL says what the version before can live with (`migrationKind`):
 * `-- expand`: it only adds, so the version before runs on it, while instances are replaced one by one.
 * `-- concurrent`: one `create index concurrently` per line, built while others write.
 * Anything else is a contract: the version before must no longer run.
 */
export interface Migration {
  id: string
  sql: string
}

/** An arbitrary number, equal in every instance, so that only one migrates at a time. */
export const LOCK = 7_866_914

/** Whether a migration builds its indexes while others write, which no transaction can do. */
export const isConcurrent = ({ sql }: Migration): boolean => sql.startsWith('-- concurrent\n')

/** Whether the version before may run on what a migration leaves. */
export const migrationKind = (migration: Migration): 'expand' | 'contract' =>
  isConcurrent(migration) || migration.sql.startsWith('-- expand\n') ? 'expand' : 'contract'
