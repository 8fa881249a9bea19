import { index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, newId } from '../../db/columns.ts'
import type { RecordName } from '../../records/names.ts'
import { users } from '../users/table.ts'

/**
 * Any record may point at any other. Whoever sees both ends sees the link, so it belongs to no team of its own: a project that moves takes
 * along nothing, and leaves nothing behind. Links whose ends are gone for good are swept away (upkeep).
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
