import { index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, newId } from '../../db/columns.ts'
import type { RecordName } from '../../records/names.ts'
import { users } from '../users/table.ts'

/**
 * Any record may point to any other. A link is visible to callers who see both ends, so it belongs to no team, and
 * moving a project does not affect it. `upkeep` deletes links whose ends no longer exist.
 */
export const links = pgTable(
  'links',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    createdAt: instant().notNull(),
    fromType: text().$type<RecordName>().notNull(),
    fromId: uuid().notNull(),
    toType: text().$type<RecordName>().notNull(),
    toId: uuid().notNull(),
    kind: text().notNull(),
  },
  (t) => [uniqueIndex('links_pair').on(t.fromId, t.toId, t.kind), index('links_to').on(t.toId)],
)
