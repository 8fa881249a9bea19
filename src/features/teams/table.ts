import { bigserial, date, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { json } from '../../db/columns.ts'

/**
 * The number of events on past days, by everything that decides who may see an event and for whom it counts. Columns
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
    /** Only for agents: their changes count for the owner of the token. */
    credentialId: uuid(),
    /** Only the field `noun`. */
    data: json<Record<string, unknown>>().notNull(),
    n: integer().notNull(),
  },
  (t) => [index('event_days_organization').on(t.organizationId, t.day)],
)
