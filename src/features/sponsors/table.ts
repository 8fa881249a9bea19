import { sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { softRecord } from '../../db/columns.ts'
import { uploads } from '../uploads/table.ts'

export const tiers = ['platinum', 'gold', 'silver', 'bronze'] as const

/** Sponsors of the site. Visitors see active ones. */
export const sponsors = pgTable(
  'sponsors',
  {
    ...softRecord(),
    name: text().notNull(),
    url: text(),
    description: text(),
    tier: text().$type<(typeof tiers)[number]>().notNull(),
    position: integer().notNull().default(0),
    active: boolean().notNull().default(true),
    logoId: uuid().references(() => uploads.id, { onDelete: 'set null' }),
  },
  (t) => [
    index('sponsors_created').on(t.createdAt, t.id).where(sql`${t.deletedAt} is null`),
    index('sponsors_logo').on(t.logoId),
  ],
)
