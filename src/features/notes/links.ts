import { and, ne, type SQL, sql } from 'drizzle-orm'
import { read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import type { NoteLinks } from './schema.ts'
import { get, visibleTo } from './service.ts'
import { notes } from './table.ts'

/** So many of each are shown. */
export const LINKS = 100

/** Notes with a title that this one's text names as `[[title]]`; several may have it. */
export const namedBy = (id: string): SQL =>
  sql`lower(${notes.title}) = any(select unnest(n.mentions) from ${notes} n where n.id = ${id})`

/** Notes whose text names this title. */
export const naming = (title: string): SQL => sql`${notes.mentions} @> array[${title.toLowerCase()}]::text[]`

/** Both ways, of those the caller may see. Apart from the note itself, which is read far more often than its links. */
export const links = read(
  'notes.links',
  member('notes:read'),
  async (ctx, { ref }: { ref: string }): Promise<NoteLinks> => {
    const { id, title } = await get(ctx, { ref })
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
