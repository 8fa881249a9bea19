import { AppError } from '../errors.ts'
import type { Queryable } from './driver.ts'

/**
 * This table exists while data is being loaded. It records the tables already loaded, and the foreign keys to recreate
 * at the end.
 */
export const PROGRESS = 'restore_progress'

export async function isRestoring(on: Queryable): Promise<boolean> {
  const { rows } = await on.query('select to_regclass($1)::text', [PROGRESS])
  return rows[0]?.[0] != null
}

export async function requireNotRestoring(on: Queryable): Promise<void> {
  if (await isRestoring(on))
    throw new AppError(
      'conflict',
      'The data here is not complete: `tutti restore` or `tutti db move` was interrupted. Run the same command again; it continues where it stopped.',
    )
}
