import { boolean, index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { record } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'

/** A saved query of a dashboard page: the part of its address after the question mark. */
export const views = pgTable(
  'views',
  {
    ...record(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    /** Null: a view of the whole team. */
    projectId: uuid().references(() => projects.id, { onDelete: 'cascade' }),
    /** Null if its author has left; then only a shared view stays. */
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    shared: boolean().notNull(),
    page: text().notNull(),
    name: text().notNull(),
    query: text().notNull(),
  },
  (t) => [
    index('views_organization').on(t.organizationId, t.name, t.id),
    index('views_project').on(t.projectId),
    index('views_author').on(t.createdById),
  ],
)
