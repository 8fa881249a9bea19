import { sql } from 'drizzle-orm'
import { bigint, index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json, record, textList } from '../../db/columns.ts'
import { agents } from '../agents/table.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { tasks } from '../tasks/table.ts'
import { users } from '../users/table.ts'
import type { Checkpoint } from './schema.ts'

/** A work session, which can be paused and resumed. */
export const sessions = pgTable(
  'sessions',
  {
    ...record(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: uuid().references(() => agents.id, { onDelete: 'set null' }),
    projectId: uuid().references(() => projects.id, { onDelete: 'cascade' }),
    taskId: uuid().references(() => tasks.id, { onDelete: 'set null' }),
    status: text().$type<'active' | 'paused' | 'ended'>().notNull(),
    goals: textList().notNull(),
    context: text(),
    checkpoint: json<Checkpoint>(),
    checkpointAt: instant(),
    summary: text(),
    startedAt: instant().notNull(),
    endedAt: instant(),
    /** The login session, key or token that last worked on it. Tells two workers of one person apart. */
    credentialId: uuid(),
    /** The connection that last worked on it, if the protocol has connections: two windows may share a token. */
    connection: text(),
    /** When that connection was known to have closed; null while it is open or unknown. */
    connectionClosedAt: instant(),
    /** Number of the last event at the last checkpoint: later events are new to the session. */
    seenSeq: bigint({ mode: 'number' }).notNull(),
  },
  (t) => [
    index('sessions_user').on(t.userId, t.organizationId, t.updatedAt, t.id),
    index('sessions_active').on(t.credentialId).where(sql`${t.status} = 'active'`),
    index('sessions_agent').on(t.agentId, t.updatedAt),
    index('sessions_project').on(t.projectId),
    index('sessions_organization').on(t.organizationId),
  ],
)
