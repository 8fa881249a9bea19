import { customType, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'

/** Read and written as base64 (`encode`, `decode` in the statement), the only form that works with both drivers. */
const bytea = customType<{ data: string }>({ dataType: () => 'bytea' })

/** Pictures of at most a few MiB. Stored in the database, so that backups and other instances need no other storage. */
export const uploads = pgTable(
  'uploads',
  {
    /** Random and unguessable: everyone who has the address may see the picture. */
    id: uuid().primaryKey(),
    userId: uuid().references(() => users.id, { onDelete: 'cascade' }),
    organizationId: uuid().references(() => organizations.id, { onDelete: 'cascade' }),
    purpose: text().$type<'avatar' | 'cover' | 'team_avatar' | 'site'>().notNull(),
    type: text().notNull(),
    width: integer().notNull(),
    height: integer().notNull(),
    bytes: bytea().notNull(),
    createdAt: instant().notNull(),
  },
  (t) => [index('uploads_user').on(t.userId), index('uploads_organization').on(t.organizationId)],
)
