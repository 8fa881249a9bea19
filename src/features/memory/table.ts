import { index, pgTable, real, text, uuid } from 'drizzle-orm/pg-core'
import { instant, softRecord, textList } from '../../db/columns.ts'
import type { MemoryScope } from '../../records/names.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'

/** A fact to remember. Its scope is the agent, project or session that it is about. */
export const memories = pgTable(
  'memories',
  {
    ...softRecord(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    authorType: text().$type<'user' | 'agent'>().notNull(),
    authorId: uuid(),
    authorName: text().notNull(),
    scope: text().$type<MemoryScope>().notNull(),
    scopeId: uuid().notNull(),
    /** The project of its scope, if any. Only those who see it see the memory. */
    projectId: uuid().references(() => projects.id, { onDelete: 'cascade' }),
    title: text(),
    content: text().notNull(),
    tags: textList().notNull(),
    source: text(),
    importance: real().notNull(),
    expiresAt: instant(),
    supersedes: uuid(),
    supersededById: uuid(),
  },
  (t) => [
    index('memories_organization').on(t.organizationId, t.updatedAt, t.id),
    index('memories_scope').on(t.scope, t.scopeId, t.updatedAt),
    index('memories_project').on(t.projectId),
  ],
)
