import { sql } from 'drizzle-orm'
import { boolean, index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { json, searchOver, softRecord, textList } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'
import type { NoteLink } from './schema.ts'

export const notes = pgTable(
  'notes',
  {
    ...softRecord(),
    /** Null only for personal notes. */
    organizationId: uuid().references(() => organizations.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'cascade' }),
    projectId: uuid().references(() => projects.id, { onDelete: 'cascade' }),
    title: text().notNull(),
    slug: text().notNull(),
    content: text().notNull(),
    tags: textList().notNull(),
    links: json<NoteLink[]>().notNull(),
    scope: text().$type<'personal' | 'team' | 'public'>().notNull(),
    pinned: boolean().notNull().default(false),
    /** Lower-cased titles that the content mentions as `[[title]]`; used to find backlinks. */
    mentions: textList().notNull(),
    search: searchOver('title', 'content'),
  },
  (t) => [
    uniqueIndex('notes_slug').on(t.slug).where(sql`${t.deletedAt} is null`),
    index('notes_organization').on(t.organizationId, t.updatedAt, t.id),
    index('notes_personal').on(t.createdById, t.updatedAt, t.id).where(sql`${t.organizationId} is null`),
    index('notes_project').on(t.projectId),
    index('notes_tags').using('gin', t.tags),
    index('notes_mentions').using('gin', t.mentions),
    index('notes_search').using('gin', t.search),
    // A search of public notes reads only those, not all notes.
    index('notes_public').on(t.createdById).where(sql`${t.scope} = 'public' and ${t.deletedAt} is null`),
    index('notes_public_search').using('gin', t.search).where(sql`${t.scope} = 'public' and ${t.deletedAt} is null`),
    // Finds the notes that link to a record. Partial, because most notes have no links.
    index('notes_links').using('gin', sql`${t.links} jsonb_path_ops`).where(sql`${t.links} <> '[]'`),
  ],
)
