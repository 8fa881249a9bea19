import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, newId } from '../../db/columns.ts'
import { users } from '../users/table.ts'

/** A device that requests to be signed in (RFC 8628). */
export const deviceCodes = pgTable(
  'device_codes',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    deviceHash: text().notNull(),
    /** HMAC, because the code that users enter is short. */
    userHash: text().notNull(),
    clientName: text().notNull(),
    userAgent: text(),
    ip: text(),
    status: text().$type<'pending' | 'approved' | 'denied' | 'used'>().notNull(),
    /** The first user who opened the code; only they may approve or refuse it. */
    claimedById: uuid().references(() => users.id, { onDelete: 'cascade' }),
    /** Seconds between polls; grows if the device polls too often. */
    interval: integer().notNull(),
    lastPollAt: instant(),
    createdAt: instant().notNull(),
    expiresAt: instant().notNull(),
  },
  (t) => [
    uniqueIndex('device_codes_device').on(t.deviceHash),
    uniqueIndex('device_codes_user').on(t.userHash),
    index('device_codes_expires').on(t.expiresAt),
  ],
)
