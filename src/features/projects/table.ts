import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, json, searchOver, softRecord } from '../../db/columns.ts'
import type { ProjectColor } from '../../records/project-colors.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { workspaces } from '../workspaces/table.ts'

const anyColor = sql`('{green,blue,amber,violet,pink,teal,red,grey}'::text[])[1 + floor(random() * 8)::int]`

export const projects = pgTable(
  'projects',
  {
    ...softRecord(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    workspaceId: uuid().references(() => workspaces.id, { onDelete: 'set null' }),
    name: text().notNull(),
    slug: text().notNull(),
    key: text().notNull(),
    description: text(),
    /** Older versions store a project without it. This version chooses the least used colour of the team. */
    color: text().$type<ProjectColor>().notNull().default(anyColor),
    visibility: text().$type<'private' | 'team' | 'public'>().notNull(),
    /** The visibility to restore when the project is unshared; null unless it is shared. */
    formerVisibility: text().$type<'private' | 'team' | 'public'>(),
    status: text().$type<'active' | 'archived'>().notNull().default('active'),
    archivedAt: instant(),
    /** The highest task number so far; it never decreases. */
    lastNumber: integer().notNull().default(0),
    settings: json<Record<string, unknown>>().notNull(),
    search: searchOver('name', 'description'),
  },
  (t) => [
    uniqueIndex('projects_slug').on(t.organizationId, t.slug).where(sql`${t.deletedAt} is null`),
    uniqueIndex('projects_key').on(t.organizationId, t.key).where(sql`${t.deletedAt} is null`),
    index('projects_updated').on(t.organizationId, t.updatedAt, t.id),
    index('projects_workspace').on(t.workspaceId),
    index('projects_search').using('gin', t.search),
    index('projects_public').on(t.createdById).where(sql`${t.visibility} = 'public' and ${t.deletedAt} is null`),
  ],
)
