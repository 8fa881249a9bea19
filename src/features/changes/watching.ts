import { ruleRefusal } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { watchable } from '../../live-hooks.ts'
import { changes } from './table.ts'
import { changeReadRule, watchableBy } from './visible.ts'

/** The person who made a change can watch its progress. */
export const watchChanges = watchable.handle(async ({ app, db, now }, { actor, ids }) => {
  if (!actor.userId || ruleRefusal(actor, changeReadRule, 'Watching a change', app.clock)) return []
  const rows = await db
    .select({ id: changes.id })
    .from(changes)
    .where(and(anyOf(changes.id, idList(ids)), watchableBy(actor, now)))
  return rows.map(({ id }) => id)
})
