import { sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, json, newId, softRecord, textList } from '../../db/columns.ts'
import type { CodeHost, Commit, Pull } from '../../outside/codehosts/schema.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'
import { features } from '../workflow/table.ts'
import type { Status } from './schema.ts'

/** A repository as its code host described it at the last sync, which ran with the caller's token. */
export const repositories = pgTable(
  'repositories',
  {
    ...softRecord(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    projectId: uuid().references(() => projects.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    provider: text().$type<CodeHost>().notNull(),
    /**
     * Web address of the code host, without a trailing slash. A token is sent only to the host that it was saved for.
     */
    host: text().notNull(),
    owner: text().notNull(),
    name: text().notNull(),
    url: text().notNull(),
    /** The address in lower case: unique in a project, or in the team's own repositories. */
    key: text().notNull(),
    private: boolean().notNull().default(false),
    defaultBranch: text(),
    branches: textList().notNull(),
    commitSha: text(),
    lastCommit: json<Commit | null>(),
    language: text(),
    topics: textList().notNull(),
    /** Open pull requests. */
    pulls: json<Pull[]>().notNull(),
    status: text().$type<Status>().notNull(),
    syncedAt: instant(),
    error: text(),
  },
  (t) => [
    uniqueIndex('repositories_project')
      .on(t.projectId, t.key)
      .where(sql`${t.deletedAt} is null and ${t.projectId} is not null`),
    uniqueIndex('repositories_team')
      .on(t.organizationId, t.key)
      .where(sql`${t.deletedAt} is null and ${t.projectId} is null`),
    index('repositories_organization').on(t.organizationId, t.updatedAt, t.id),
    index('repositories_of_project').on(t.projectId),
  ],
)

/** Pull requests that were opened or linked through Tutti. */
export const pullRequests = pgTable(
  'pull_requests',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    repositoryId: uuid()
      .notNull()
      .references(() => repositories.id, { onDelete: 'cascade' }),
    featureId: uuid().references(() => features.id, { onDelete: 'set null' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    createdAt: instant().notNull(),
    number: integer().notNull(),
    url: text().notNull(),
    title: text().notNull(),
    head: text().notNull(),
    base: text().notNull(),
  },
  (t) => [
    uniqueIndex('pull_requests_number').on(t.repositoryId, t.number),
    index('pull_requests_feature').on(t.featureId),
  ],
)
