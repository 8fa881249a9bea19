import { customType, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../../db/columns.ts'
import type { RecordName } from '../../records/names.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'

/** Read and written as base64 (`encode`, `decode` in the statement), the only form that works with both drivers. */
const bytea = customType<{ data: string }>({ dataType: () => 'bytea' })

/** Pictures and files in the texts of records. They are visible with their record, and deleted with it. */
export const attachments = pgTable(
  'attachments',
  {
    id: uuid().primaryKey(),
    kind: text().$type<RecordName>().notNull(),
    recordId: uuid().notNull(),
    /**
     * The team whose storage it uses; null: that of its author. A deleted team does not delete the file, because the
     * record may have moved to another team.
     */
    organizationId: uuid().references(() => organizations.id, { onDelete: 'set null' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    name: text().notNull(),
    type: text().notNull(),
    size: integer().notNull(),
    bytes: bytea().notNull(),
    createdAt: instant().notNull(),
  },
  (t) => [
    index('attachments_record').on(t.recordId),
    index('attachments_organization').on(t.organizationId),
    index('attachments_author').on(t.createdById),
  ],
)

/** Files that were uploaded before their record exists. Only their author sees them; they are deleted after a day. */
export const pendingUploads = pgTable(
  'pending_uploads',
  {
    /** The file keeps it when its record is created, so that the text of the record can contain its address. */
    id: uuid().primaryKey(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    type: text().notNull(),
    size: integer().notNull(),
    bytes: bytea().notNull(),
    createdAt: instant().notNull(),
  },
  (t) => [index('pending_uploads_user').on(t.userId), index('pending_uploads_created').on(t.createdAt)],
)
