import { doublePrecision, index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, json, searchOver, softRecord, textList } from '../../db/columns.ts'
import { users } from '../accounts/table.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import type { Acceptance, Priority, Status } from './schema.ts'

/** What epics, stories and tasks share. `position` orders siblings; a row can be put between two others without moving them. */
const item = () => ({
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

export const epics = pgTable('epics', item(), (t) => [
  index('epics_organization').on(t.organizationId),
  index('epics_project').on(t.projectId, t.position),
  index('epics_search').using('gin', t.search),
])

export const stories = pgTable(
  'stories',
  {
    ...item(),
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

export const tasks = pgTable(
  'tasks',
  {
    ...item(),
    /** Null: straight under the project. */
    storyId: uuid().references(() => stories.id, { onDelete: 'cascade' }),
    /** `TUT-42` is the project's key and this. Given once, never reused. */
    number: integer().notNull(),
    labels: textList().notNull(),
    estimate: integer(),
    acceptance: json<Acceptance[]>().notNull(),
    dueAt: instant(),
  },
  (t) => [
    uniqueIndex('tasks_number').on(t.projectId, t.number),
    index('tasks_organization').on(t.organizationId),
    index('tasks_project').on(t.projectId, t.status, t.position),
    index('tasks_story').on(t.storyId),
    index('tasks_search').using('gin', t.search),
  ],
)

export const taskDependencies = pgTable(
  'task_dependencies',
  {
    taskId: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: 'cascade' }),
    blockedById: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: 'cascade' }),
    kind: text().$type<'blocks' | 'relates' | 'discovered_from' | 'duplicates'>().notNull().default('blocks'),
    createdAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.taskId, t.blockedById, t.kind] }), index('task_dependencies_blocker').on(t.blockedById)],
)
