import { sql } from 'drizzle-orm'
import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json, newId, searchOver, searchOverJson, softRecord, textList } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'
import type { Alternative } from './schema.ts'

export const decisions = pgTable(
  'decisions',
  {
    ...softRecord(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    /** Null: of the whole organization. */
    projectId: uuid().references(() => projects.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    authorType: text().$type<'user' | 'agent'>().notNull(),
    authorId: uuid(),
    authorName: text().notNull(),
    title: text().notNull(),
    context: text(),
    decision: text().notNull(),
    rationale: text(),
    alternatives: json<Alternative[]>().notNull(),
    status: text().$type<'proposed' | 'accepted' | 'rejected' | 'superseded'>().notNull(),
    outcome: text(),
    tags: textList().notNull(),
    supersedes: uuid(),
    supersededById: uuid(),
    search: searchOver('title', 'decision', 'context', 'rationale'),
    searchAlternatives: searchOverJson('alternatives', sql`'"(option|pros|cons)":|\\\\[nrt]'`),
  },
  (t) => [
    index('decisions_organization').on(t.organizationId, t.updatedAt, t.id),
    index('decisions_project').on(t.projectId, t.updatedAt),
    index('decisions_search').using('gin', t.search),
    index('decisions_search_alternatives').using('gin', t.searchAlternatives),
  ],
)

export const decisionComments = pgTable(
  'decision_comments',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    decisionId: uuid()
      .notNull()
      .references(() => decisions.id, { onDelete: 'cascade' }),
    authorType: text().$type<'user' | 'agent'>().notNull(),
    authorId: uuid(),
    authorName: text().notNull(),
    body: text().notNull(),
    createdAt: instant().notNull(),
    search: searchOver('body'),
  },
  (t) => [
    index('decision_comments_decision').on(t.decisionId, t.createdAt, t.id),
    index('decision_comments_search').using('gin', t.search),
  ],
)
