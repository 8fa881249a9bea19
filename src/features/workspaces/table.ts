import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, softRecord, textList } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'

/** A group of projects that several teams may share. */
export const workspaces = pgTable(
  'workspaces',
  {
    ...softRecord(),
    /** The owning team; it also has the role `owner` in workspace_teams. */
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    name: text().notNull(),
    description: text(),
    folders: textList().notNull(),
    status: text().$type<'active' | 'archived'>().notNull().default('active'),
  },
  (t) => [index('workspaces_organization').on(t.organizationId, t.updatedAt, t.id)],
)

export const workspaceTeams = pgTable(
  'workspace_teams',
  {
    workspaceId: uuid()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    role: text().$type<'owner' | 'editor' | 'viewer'>().notNull(),
    addedAt: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.organizationId] }),
    index('workspace_teams_organization').on(t.organizationId),
  ],
)
