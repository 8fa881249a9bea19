import { sql } from 'drizzle-orm'
import { boolean, index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import type { Role } from '../../auth/policy.ts'
import { instant, record } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'

export const invites = pgTable(
  'invites',
  {
    ...record(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    email: text().notNull(),
    role: text().$type<Role>().notNull(),
    hash: text().notNull(),
    /** The inviter got the link to pass on, so using it does not confirm the address. */
    handedOver: boolean().notNull().default(false),
    invitedById: uuid().references(() => users.id, { onDelete: 'set null' }),
    expiresAt: instant().notNull(),
    acceptedAt: instant(),
    /** When the recipient declined it or the team withdrew it. */
    closedAt: instant(),
  },
  (t) => [
    uniqueIndex('invites_hash').on(t.hash),
    uniqueIndex('invites_open')
      .on(t.organizationId, sql`lower(${t.email})`)
      .where(sql`${t.acceptedAt} is null and ${t.closedAt} is null`),
    index('invites_organization').on(t.organizationId),
    index('invites_email').on(sql`lower(${t.email})`),
  ],
)
