import { doublePrecision, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { searchOver, softRecord } from '../../db/columns.ts'
import type { Priority, Status } from '../../records/task-states.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'

/** Columns of epics, stories and tasks. `position` orders siblings; inserting between two rows moves neither. */
export const workItem = () => ({
  ...softRecord(),
  organizationId: uuid()
    .notNull()
    .references(() => organizations.id, { onDelete: 'cascade' }),
  projectId: uuid()
    .notNull()
    .references(() => projects.id, { onDelete: 'cascade' }),
  createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
  title: text().notNull(),
  description: text(),
  status: text().$type<Status>().notNull(),
  priority: text().$type<Priority>().notNull(),
  position: doublePrecision().notNull(),
  search: searchOver('title', 'description'),
})

export const epics = pgTable('epics', workItem(), (t) => [
  index('epics_organization').on(t.organizationId),
  index('epics_project').on(t.projectId, t.position),
  index('epics_search').using('gin', t.search),
])

export const stories = pgTable(
  'stories',
  {
    ...workItem(),
    epicId: uuid()
      .notNull()
      .references(() => epics.id, { onDelete: 'cascade' }),
    points: integer(),
  },
  (t) => [
    index('stories_organization').on(t.organizationId),
    index('stories_project').on(t.projectId, t.position),
    index('stories_epic').on(t.epicId),
    index('stories_search').using('gin', t.search),
  ],
)
