import type { Driver } from '../../db/driver.ts'
import { LOWEST_ID } from '../../records/sync.ts'
import type { Finding } from './finding.ts'

/** Tasks per statement: on the embedded database all others wait for it. */
const BATCH = 2000

const batchSql = `batch as materialized (
  select array(select id from tasks where id > $1::uuid order by id limit ${BATCH}) ids)`
const recountStatements = {
  check: `with ${batchSql} select ids[cardinality(ids)], (select count(*)::int from tasks t
      join task_readiness(ids) r on r.id = t.id where (t.has_open_blockers, t.has_open_parts, t.open_waiters)
        is distinct from (r.has_open_blockers, r.has_open_parts, r.open_waiters)) from batch`,
  repair: `with ${batchSql} select ids[cardinality(ids)], tasks_recount(ids) from batch`,
}

/**
 * Checks the columns of tasks that triggers maintain and that decide which tasks are ready. They can be wrong only if
 * someone changed the database by hand with triggers disabled. With `repair`, corrects them.
 */
export async function checkReadiness(driver: Driver, repair: boolean): Promise<Finding> {
  const what = 'readiness'
  let wrong = 0
  let last: unknown = LOWEST_ID
  try {
    while (last !== null) {
      const { rows } = await driver.query(repair ? recountStatements.repair : recountStatements.check, [String(last)])
      last = rows[0]?.[0] ?? null
      wrong += Number(rows[0]?.[1] ?? 0)
    }
  } catch {
    return { what, ok: true, warning: true, said: 'not checked', advice: 'Apply the migrations first: tutti migrate' }
  }
  const some = `${wrong} task${wrong === 1 ? '' : 's'}`
  if (wrong === 0) return { what, ok: true, said: 'the blocked state of every task is correct' }
  if (repair) return { what, ok: true, said: `corrected for ${some}` }
  return { what, ok: false, said: `wrong for ${some}`, advice: 'Correct it with: tutti doctor --repair' }
}
