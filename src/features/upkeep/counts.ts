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

const DIFFERENT = `select count(*)::int from (
  select day, sum(n) as n from event_days group by day) s
  where s.n <> (select count(*) from events e where e.at >= s.day::timestamp at time zone 'UTC'
    and e.at < (s.day + 1)::timestamp at time zone 'UTC' and e.organization_id is not null and e.type <> e.action)
    and s.day > (select max(day) from event_days) - 30`

/** Checks the sums of events of the last 30 days. With `repair`, deletes them: the hourly job sums all days anew. */
export async function days(driver: Driver, repair: boolean): Promise<Finding> {
  const what = 'days'
  try {
    const wrong = Number((await driver.query(DIFFERENT)).rows[0]?.[0])
    const some = `${wrong} day${wrong === 1 ? '' : 's'}`
    if (wrong === 0) return { what, ok: true, said: 'the numbers of changes are right' }
    if (!repair) return { what, ok: false, said: `wrong for ${some}`, advice: 'Correct it with: tutti doctor --repair' }
    await driver.exec(`begin; delete from event_days; delete from meta where key = 'event_days'; commit`)
    return { what, ok: true, said: `counted anew, as ${some} were wrong` }
  } catch {
    return { what, ok: true, warning: true, said: 'not checked', advice: 'Apply the migrations first: tutti migrate' }
  }
}
