import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { searchOver, softRecord, textList } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'

export const skills = pgTable(
  'skills',
  {
    ...softRecord(),
    /** Null only for personal skills, and for public ones that no team owns. */
    organizationId: uuid().references(() => organizations.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    name: text().notNull(),
    /** Unique on the whole server, because it is the address of public skills. */
    slug: text().notNull(),
    description: text(),
    content: text().notNull(),
    /** Names of the placeholders in the content, stored because a list of prompts must not read all content. */
    placeholders: textList().notNull().default([]),
    tags: textList().notNull(),
    scope: text().$type<'personal' | 'team' | 'public'>().notNull(),
    search: searchOver('name', 'description', 'content'),
  },
  (t) => [
    uniqueIndex('skills_slug').on(t.slug).where(sql`${t.deletedAt} is null`),
    index('skills_organization').on(t.organizationId, t.updatedAt, t.id),
    index('skills_author').on(t.createdById, t.updatedAt, t.id),
    index('skills_public').on(t.updatedAt, t.id).where(sql`${t.scope} = 'public' and ${t.deletedAt} is null`),
    index('skills_search').using('gin', t.search),
  ],
)

/** How often agents of other teams have read a public skill. */
export const skillCalls = pgTable('skill_calls', {
  skillId: uuid()
    .primaryKey()
    .references(() => skills.id, { onDelete: 'cascade' }),
  calls: integer().notNull(),
})
