import { sql } from 'drizzle-orm'
import { index, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, record, softRecord, textList } from '../../db/columns.ts'
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

/** Invitations of a team to a workspace. They name a person, who chooses one of the teams that they administer. */
export const workspaceInvites = pgTable(
  'workspace_invites',
  {
    ...record(),
    workspaceId: uuid()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    email: text().notNull(),
    role: text().$type<'owner' | 'editor' | 'viewer'>().notNull(),
    /** A pending invitation whose `expiresAt` has passed is expired. */
    status: text().$type<'pending' | 'accepted' | 'declined' | 'cancelled'>().notNull().default('pending'),
    invitedById: uuid().references(() => users.id, { onDelete: 'set null' }),
    expiresAt: instant().notNull(),
    /** When it was accepted, declined or cancelled. */
    closedAt: instant(),
    /** The team that joined the workspace by it. */
    teamId: uuid().references(() => organizations.id, { onDelete: 'set null' }),
  },
  (t) => [
    uniqueIndex('workspace_invites_pending')
      .on(t.workspaceId, sql`lower(${t.email})`)
      .where(sql`${t.status} = 'pending'`),
    index('workspace_invites_workspace').on(t.workspaceId, t.createdAt, t.id),
    index('workspace_invites_email').on(sql`lower(${t.email})`),
  ],
)
