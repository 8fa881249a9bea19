import { and, ne, type SQL, sql } from 'drizzle-orm'
import { read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { findNote, visibleTo } from './rows.ts'
import type { NoteLinks } from './schema.ts'
import { notes } from './table.ts'

/** The most links that are returned in each direction. */
export const MOST_NOTE_LINKS = 100

/** SQL condition: notes that the text of this note mentions as `[[title]]`. Several may have that title. */
export const isNamedBy = (id: string): SQL =>
  sql`lower(${notes.title}) = any(select unnest(n.mentions) from ${notes} n where n.id = ${id})`

/** SQL condition: notes whose text mentions this title. */
export const isNaming = (title: string): SQL => sql`${notes.mentions} @> array[${title.toLowerCase()}]::text[]`

/** Returns the visible notes that a note mentions, and those that mention it. */
export const listNoteLinks = read(
  'notes.links',
  member('notes:read'),
  async (ctx, { ref }: { ref: string }): Promise<NoteLinks> => {
    const { id, title } = await findNote(ctx, ref)
    const others = (which: SQL) =>
      ctx.db
        .select({ id: notes.id, title: notes.title, slug: notes.slug })
        .from(notes)
        .where(and(visibleTo(rightsOf(ctx.actor)), ne(notes.id, id), which))
        .orderBy(notes.title, notes.id)
        .limit(MOST_NOTE_LINKS)
    return { mentions: await others(isNamedBy(id)), backlinks: await others(isNaming(title)) }
  },
)
