import { sql } from 'drizzle-orm'
import { newId } from '../../db/columns.ts'
import { placeholders, prepareDeferred } from '../../db/session.ts'
import { taskChanged } from '../tasks/hooks.ts'
import { describeChange, differencesOf, type Fields } from './fields.ts'
import { changeItems, changes } from './table.ts'
import { expiryFrom } from './visible.ts'

/**
 * One statement, which is sent together with the events of the write: recording a change costs no trip to the database.
 */
const storeItem = prepareDeferred((db) => {
  const change = db.$with('change').as(
    db
      .insert(changes)
      .values({
        ...placeholders('organizationId', 'userId', 'credentialId', 'label', 'createdAt', 'expiresAt'),
        id: sql.placeholder('changeId'),
        state: 'done',
      })
      .onConflictDoNothing()
      .returning({ id: changes.id }),
  )
  return db
    .with(change)
    .insert(changeItems)
    .values(placeholders('changeId', 'id', 'taskId', 'before', 'after', 'freed', 'createdAt'))
})

/**
 * Records what a person changed, at a browser or with an API key, so that they can undo it. All tasks of one call
 * belong to one change.
 */
export const recordChange = taskChanged.handle((ctx, input) => {
  const { actor, change, now } = ctx
  if (!change || (actor.kind !== 'session' && actor.kind !== 'api_key')) return
  const differences = differencesOf(input)
  if (!differences) return
  const { after } = input
  const header = {
    changeId: change.id,
    organizationId: actor.organizationId ?? after.organizationId,
    userId: actor.userId,
    credentialId: actor.credentialId,
    label: describeChange(differences.after, after),
    createdAt: now,
    expiresAt: expiryFrom(now),
  }
  const store = (taskId: string, item: { before: Fields; after: Fields }, freed: boolean) =>
    storeItem(ctx.db, { ...header, id: newId(), taskId, ...item, freed })
  // Undo goes from the last to the first: it reopens the task before those that waited for it.
  for (const { id, from } of input.freed)
    store(id, { before: { status: from }, after: { status: from === 'blocked' ? 'todo' : from } }, true)
  store(after.id, differences, false)
  change.recorded = true
})
