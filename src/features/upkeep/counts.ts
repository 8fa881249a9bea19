import type { Driver } from '../../db/driver.ts'
import type { Finding } from './doctor.ts'

/**
 * Checks the numbers of tasks that triggers keep for each project and status. They can differ only if somebody changed
 * the database by hand with triggers disabled. With `repair`, corrects them.
 */
export async function counts(driver: Driver, repair: boolean): Promise<Finding> {
  const what = 'counts'
  try {
    const { rows } = await driver.query(
      repair ? 'select task_counts_mend()' : 'select count(distinct project_id)::int from task_counts_wrong()',
    )
    const wrong = Number(rows[0]?.[0])
    if (wrong === 0) return { what, ok: true, said: 'the numbers of tasks are right' }
    if (repair) return { what, ok: true, said: `corrected ${wrong} number${wrong === 1 ? '' : 's'} of tasks` }
    const some = `${wrong} project${wrong === 1 ? '' : 's'}`
    return { what, ok: false, said: `wrong for ${some}`, advice: 'Correct it with: tutti doctor --repair' }
  } catch {
    return { what, ok: true, warning: true, said: 'not checked', advice: 'Apply the migrations first: tutti migrate' }
  }
}
