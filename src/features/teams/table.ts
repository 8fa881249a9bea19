import { bigserial, date, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { json } from '../../db/columns.ts'

/**
 * How many events of past days there were, by all that decides who may see an event and for whom it counts. Columns
 * are named as in `events`, so that one condition serves both.
 */
export const eventDays = pgTable(
  'event_days',
  {
    id: bigserial({ mode: 'number' }).primaryKey(),
    /** In UTC. */
    day: date().notNull(),
    organizationId: uuid().notNull(),
    projectId: uuid(),
    userId: uuid(),
    type: text().notNull(),
    action: text().notNull(),
    actorKind: text().notNull(),
    actorId: uuid(),
    /** Only of agents, whose changes count for the user whose token it is. */
    credentialId: uuid(),
    /** Only the member `noun`. */
    data: json<Record<string, unknown>>().notNull(),
    n: integer().notNull(),
  },
  (t) => [index('event_days_organization').on(t.organizationId, t.day)],
)
