import { sql } from 'drizzle-orm'
import { boolean, index, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import type { Role } from '../../auth/policy.ts'
import { instant, json, softRecord } from '../../db/columns.ts'
import { users } from '../users/table.ts'

export const organizations = pgTable(
  'organizations',
  {
    ...softRecord(),
    name: text().notNull(),
    slug: text().notNull(),
    description: text(),
    avatarUrl: text(),
    plan: text().notNull().default('included'),
    planStatus: text().$type<'active' | 'trialing' | 'past_due' | 'cancelled'>().notNull().default('active'),
    settings: json<Record<string, unknown>>().notNull(),
    /** Created with the account, and deleted only with it. */
    personal: boolean().notNull().default(false),
    /** Parent organization, if this is the sandbox of its test tokens. Has the parent's members; hidden from lists. */
    sandboxOf: uuid(),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
  },
  (t) => [
    uniqueIndex('organizations_slug').on(t.slug).where(sql`${t.deletedAt} is null`),
    uniqueIndex('organizations_sandbox').on(t.sandboxOf).where(sql`${t.deletedAt} is null`),
  ],
)

export const memberships = pgTable(
  'memberships',
  {
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    role: text().$type<Role>().notNull(),
    joinedAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.userId] }), index('memberships_user').on(t.userId)],
)
