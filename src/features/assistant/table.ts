import { date, index, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json, newId, record } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { repositories } from '../repositories/table.ts'
import { users } from '../users/table.ts'
import type { Message, Proposal, Source } from './schema.ts'

/** A chat, which only its owner can read. It is about a team, a project or a repository. */
export const aiSessions = pgTable(
  'ai_sessions',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    organizationId: uuid().references(() => organizations.id, { onDelete: 'set null' }),
    projectId: uuid().references(() => projects.id, { onDelete: 'set null' }),
    repositoryId: uuid().references(() => repositories.id, { onDelete: 'set null' }),
    /** Null until the first question, which becomes the title. */
    title: text(),
  },
  (t) => [
    index('ai_sessions_user').on(t.userId, t.updatedAt, t.id),
    index('ai_sessions_organization').on(t.organizationId),
    index('ai_sessions_project').on(t.projectId),
    index('ai_sessions_repository').on(t.repositoryId),
  ],
)

export const aiMessages = pgTable(
  'ai_messages',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    createdAt: instant().notNull(),
    sessionId: uuid()
      .notNull()
      .references(() => aiSessions.id, { onDelete: 'cascade' }),
    role: text().$type<Message['role']>().notNull(),
    content: text().notNull(),
    status: text().$type<Message['status']>().notNull(),
    /** Without their texts. */
    sources: json<Source[]>().notNull(),
    citations: json<number[]>().notNull(),
    proposals: json<Proposal[]>().notNull(),
    usage: json<Message['usage']>(),
    model: text(),
    error: text().$type<NonNullable<Message['error']>>(),
  },
  (t) => [index('ai_messages_session').on(t.sessionId, t.createdAt, t.id)],
)

/** Usage of each user by day (UTC). Kept apart from chats, so that deleting a chat does not reset the limit. */
export const aiUsage = pgTable(
  'ai_usage',
  {
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    day: date().notNull(),
    answers: integer().notNull(),
    tokens: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.userId, t.day] }), index('ai_usage_day').on(t.day)],
)
