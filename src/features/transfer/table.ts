import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'

/** The last imported version of a record: the next import compares with it, to see what changed on which server. */
export const importedRecords = pgTable(
  'imported_records',
  {
    id: uuid().primaryKey(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    entity: text().notNull(),
    base: json<Record<string, unknown>>().notNull(),
    importedAt: instant().notNull(),
  },
  (t) => [index('imported_records_organization').on(t.organizationId)],
)
