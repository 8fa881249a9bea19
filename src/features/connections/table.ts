import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../../db/columns.ts'

/** The processes that hold open streams of agents. On Postgres each of them regularly shows that it is alive. */
export const streamHolders = pgTable('stream_holders', {
  /** The instance id of the process. */
  id: uuid().primaryKey(),
  seenAt: instant().notNull(),
})

/** The connections of agents whose stream is open now, each with the process that holds the stream. */
export const openStreams = pgTable(
  'open_streams',
  {
    credentialId: uuid().notNull(),
    connection: text().notNull(),
    holderId: uuid()
      .notNull()
      .references(() => streamHolders.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.credentialId, t.connection, t.holderId] }),
    index('open_streams_holder').on(t.holderId),
  ],
)
