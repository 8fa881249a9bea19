import { AppError } from '../errors.ts'
import type { Queryable } from './driver.ts'

/** A table that is there while data is being loaded: which tables have come, and the foreign keys that come back at the end. */
export const PROGRESS = 'restore_progress'

export async function isRestoring(on: Queryable): Promise<boolean> {
  const { rows } = await on.query('select to_regclass($1)::text', [PROGRESS])
  return rows[0]?.[0] != null
}

export async function refuseRestoring(on: Queryable): Promise<void> {
  if (await isRestoring(on))
    throw new AppError(
      'conflict',
      'The data here is not complete: `tutti restore` or `tutti db move` was interrupted. Run the same command again; it goes on where it was.',
    )
}
