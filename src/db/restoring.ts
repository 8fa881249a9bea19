import type { Queryable } from './driver.ts'

/** A table that is there while a backup is being restored: which tables have been loaded, and the foreign keys that come back at the end. */
export const PROGRESS = 'restore_progress'

export async function isRestoring(on: Queryable): Promise<boolean> {
  const { rows } = await on.query('select to_regclass($1)::text', [PROGRESS])
  return rows[0]?.[0] != null
}
