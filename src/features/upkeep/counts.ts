import type { Driver } from '../../db/driver.ts'
import type { Finding } from './finding.ts'

/**
 * Checks the task counts that triggers keep for each project, by status and by day. They can be wrong only if someone
 * changed the database by hand with triggers disabled. With `repair`, corrects them.
 */
export async function checkTaskCounts(driver: Driver, repair: boolean): Promise<Finding> {
  const what = 'counts'
  try {
    const { rows } = await driver.query(
      repair
        ? 'select task_counts_mend() + task_days_mend()'
        : `select count(distinct project_id)::int from (select project_id from task_counts_wrong()
            union all select project_id from task_days_wrong()) w`,
    )
    const wrong = Number(rows[0]?.[0])
    if (wrong === 0) return { what, ok: true, said: 'the task counts are correct' }
    if (repair) return { what, ok: true, said: `corrected ${wrong} number${wrong === 1 ? '' : 's'} of tasks` }
    const some = `${wrong} project${wrong === 1 ? '' : 's'}`
    return { what, ok: false, said: `wrong for ${some}`, advice: 'Correct it with: tutti doctor --repair' }
  } catch {
    return { what, ok: true, warning: true, said: 'not checked', advice: 'Apply the migrations first: tutti migrate' }
  }
}

const LATEST = 'select day::text from event_days group by day order by day desc limit 30'
const isOfDay = `at >= $1::date::timestamp at time zone 'UTC' and at < ($1::date + 1)::timestamp at time zone 'UTC'
  and seq <= (select value::bigint from meta where key = 'event_days')`
const isDifferent = `select (select sum(n) from event_days where day = $1::date) is distinct from
  (select count(*) from events where ${isOfDay} and organization_id is not null and type <> action)`

/**
 * Checks the event sums of the last 30 days that have any, day by day. With `repair`, deletes all sums: the hourly job
 * makes them again.
 */
export async function checkEventDays(driver: Driver, repair: boolean): Promise<Finding> {
  const what = 'days'
  try {
    const wrong: string[] = []
    for (const [day] of (await driver.query(LATEST)).rows)
      if ((await driver.query(isDifferent, [day])).rows[0]?.[0]) wrong.push(String(day))
    const some = `${wrong.length} day${wrong.length === 1 ? '' : 's'}`
    if (wrong.length === 0) return { what, ok: true, said: 'the change counts are correct' }
    if (!repair) return { what, ok: false, said: `wrong for ${some}`, advice: 'Correct it with: tutti doctor --repair' }
    await driver.exec(`begin; lock table event_days in share row exclusive mode; delete from event_days;
      delete from meta where key = 'event_days'; commit`)
    return { what, ok: true, said: `counted again, because ${some} were wrong` }
  } catch {
    return { what, ok: true, warning: true, said: 'not checked', advice: 'Apply the migrations first: tutti migrate' }
  }
}
