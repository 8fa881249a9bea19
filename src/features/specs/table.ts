import { sql } from 'drizzle-orm'
import { index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, searchOver, softRecord } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'

/** `version` is the number of its latest entry in spec_versions. */
export const specs = pgTable(
  'specs',
  {
    ...softRecord(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    projectId: uuid()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    title: text().notNull(),
    slug: text().notNull(),
    content: text().notNull(),
    status: text().$type<'draft' | 'review' | 'approved' | 'archived'>().notNull(),
    search: searchOver('title', 'content'),
  },
  (t) => [
    uniqueIndex('specs_slug').on(t.projectId, t.slug).where(sql`${t.deletedAt} is null`),
    index('specs_organization').on(t.organizationId, t.updatedAt, t.id),
    index('specs_project').on(t.projectId, t.updatedAt),
    index('specs_search').using('gin', t.search),
  ],
)

/** Rows are added, never changed. */
export const specVersions = pgTable(
  'spec_versions',
  {
    specId: uuid()
      .notNull()
      .references(() => specs.id, { onDelete: 'cascade' }),
    version: integer().notNull(),
    title: text().notNull(),
    content: text().notNull(),
    status: text().notNull(),
    message: text(),
    authorType: text().$type<'user' | 'agent'>().notNull(),
    authorId: uuid(),
    authorName: text().notNull(),
    createdAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.specId, t.version] })],
)
