import { sql } from 'drizzle-orm'
import { index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { json, searchOver, softRecord } from '../../db/columns.ts'
import type { MemoryScope } from '../../records/names.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'

export const agents = pgTable(
  'agents',
  {
    ...softRecord(),
    /** Null only for personal agents, and for public ones that no team owns. */
    organizationId: uuid().references(() => organizations.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    /** The person whose MCP token it was created for; null for agents that people create. */
    forId: uuid().references(() => users.id, { onDelete: 'set null' }),
    /** The program that it runs in, such as Claude Code, if known. */
    client: text(),
    name: text().notNull(),
    /** Unique in the whole instance, because it is the address of public agents. */
    slug: text().notNull(),
    role: text(),
    persona: text(),
    systemPrompt: text(),
    model: text(),
    provider: text(),
    /** Ids of skills. */
    skills: json<string[]>().notNull(),
    memoryScope: text().$type<MemoryScope>().notNull(),
    scope: text().$type<'personal' | 'team' | 'public'>().notNull(),
    status: text().$type<'active' | 'archived'>().notNull().default('active'),
    search: searchOver('name', 'role', 'persona'),
  },
  (t) => [
    uniqueIndex('agents_slug').on(t.slug).where(sql`${t.deletedAt} is null`),
    index('agents_organization').on(t.organizationId, t.updatedAt, t.id),
    index('agents_author').on(t.createdById, t.updatedAt, t.id),
    index('agents_for').on(t.forId).where(sql`${t.forId} is not null`),
    index('agents_search').using('gin', t.search),
    index('agents_skills').using('gin', t.skills),
  ],
)
