import { index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, newId } from '../../db/columns.ts'
import { users } from '../accounts/table.ts'
import { organizations } from '../organizations/table.ts'
import type { Linked } from './schema.ts'

/** Any record may point at any other; shown from both ends. */
export const links = pgTable(
  'links',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    createdAt: instant().notNull(),
    fromType: text().$type<Linked>().notNull(),
    fromId: uuid().notNull(),
    toType: text().$type<Linked>().notNull(),
    toId: uuid().notNull(),
    kind: text().notNull(),
  },
  (t) => [uniqueIndex('links_pair').on(t.fromId, t.toId, t.kind), index('links_to').on(t.toId)],
)
