import { and, ne, type SQL, sql } from 'drizzle-orm'
import { read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { find, visibleTo } from './rows.ts'
import type { NoteLinks } from './schema.ts'
import { notes } from './table.ts'

/** The most links that are returned in each direction. */
export const LINKS = 100

/** SQL condition: notes that the text of this note mentions as `[[title]]`. Several may have that title. */
export const namedBy = (id: string): SQL =>
  sql`lower(${notes.title}) = any(select unnest(n.mentions) from ${notes} n where n.id = ${id})`

/** SQL condition: notes whose text mentions this title. */
export const naming = (title: string): SQL => sql`${notes.mentions} @> array[${title.toLowerCase()}]::text[]`

/** Returns the visible notes that a note mentions, and those that mention it. */
export const links = read(
  'notes.links',
  member('notes:read'),
  async (ctx, { ref }: { ref: string }): Promise<NoteLinks> => {
    const { id, title } = await find(ctx, ref)
    const others = (which: SQL) =>
      ctx.db
        .select({ id: notes.id, title: notes.title, slug: notes.slug })
        .from(notes)
        .where(and(visibleTo(rightsOf(ctx.actor)), ne(notes.id, id), which))
        .orderBy(notes.title, notes.id)
        .limit(LINKS)
    return { mentions: await others(namedBy(id)), backlinks: await others(naming(title)) }
  },
)
