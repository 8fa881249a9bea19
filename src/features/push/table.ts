import { index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, newId } from '../../db/columns.ts'
import { loginSessions, users } from '../users/table.ts'

/** Browsers that receive the notifications of their user. A subscription ends with the login session of its browser. */
export const pushSubscriptions = pgTable(
  'push_subscriptions',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    createdAt: instant().notNull(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    sessionId: uuid()
      .notNull()
      .references(() => loginSessions.id, { onDelete: 'cascade' }),
    /** SHA-256 of the address: a browser has one subscription, whoever uses it. */
    endpointHash: text().notNull(),
    /** Address and keys of the browser, sealed: whoever knows them can send messages to it. */
    sealed: text().notNull(),
    userAgent: text(),
    /** When the push service last accepted a message. */
    lastOkAt: instant(),
  },
  (t) => [
    uniqueIndex('push_subscriptions_endpoint').on(t.endpointHash),
    index('push_subscriptions_user').on(t.userId),
    index('push_subscriptions_session').on(t.sessionId),
  ],
)
