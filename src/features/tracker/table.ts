import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, newId, textList } from '../../db/columns.ts'

/** A repository whose issues are mirrored. A setting lists these repositories. */
export const trackedRepositories = pgTable('tracked_repositories', {
  repo: text().primaryKey(),
  syncedAt: instant(),
  /** Why the last attempt failed. */
  error: text(),
})

/** Issues of the code host, as of the last sync. */
export const trackedIssues = pgTable(
  'tracked_issues',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    repo: text().notNull(),
    number: integer().notNull(),
    title: text().notNull(),
    state: text().$type<'open' | 'closed'>().notNull(),
    labels: textList().notNull(),
    author: text(),
    url: text().notNull(),
    updatedAt: instant().notNull(),
  },
  (t) => [
    uniqueIndex('tracked_issues_number').on(t.repo, t.number),
    index('tracked_issues_updated').on(t.updatedAt, t.id),
  ],
)
