import { eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyRights, type Rights, rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { prepare } from '../../db/session.ts'
import { notFound } from '../../errors.ts'
import { findByReference, idStartsWith, updateVersioned } from '../../records/rows.ts'
import { mayBePublic, ofTeamOrProject } from '../projects/visible.ts'
import { isNotBySuspendedAuthor } from '../users/suspended.ts'
import type { Note } from './schema.ts'
import { notes } from './table.ts'

export const noteItemColumns = {
  id: notes.id,
  createdAt: notes.createdAt,
  updatedAt: notes.updatedAt,
  version: notes.version,
  organizationId: notes.organizationId,
  createdById: notes.createdById,
  projectId: notes.projectId,
  title: notes.title,
  slug: notes.slug,
  tags: notes.tags,
  scope: notes.scope,
  pinned: notes.pinned,
}
export const noteColumns = { ...noteItemColumns, content: notes.content, links: notes.links }

const live = isNull(notes.deletedAt)

/**
 * SQL condition. Only their author sees personal notes. They belong to no organization, so MCP tokens, which are bound
 * to one, do not see them.
 */
export const visibleTo = (rights: Rights, state = live): SQL => {
  const personal = and(isNull(notes.organizationId), eq(notes.createdById, rights.personal))
  return and(state, or(personal, ofTeamOrProject(notes, rights)))
}

/**
 * SQL condition: anyone may read the note, if its team exists. Contains literals, so that the partial index is used.
 */
export const isPublished = sql`${notes.scope} = 'public' and ${notes.deletedAt} is null
  and ${mayBePublic(notes.projectId)} and ${isNotBySuspendedAuthor(notes.createdById)}`

const byId = prepare((db) =>
  db
    .select(noteColumns)
    .from(notes)
    .where(and(eq(notes.id, sql.placeholder('id')), visibleTo(anyRights))),
)

/** Finds a note by id, slug or the unique beginning of its id. */
export async function findNote(ctx: Ctx, ref: string): Promise<Note> {
  const rights = rightsOf(ctx.actor)
  const select = (match: SQL) =>
    ctx.db
      .select(noteColumns)
      .from(notes)
      .where(and(match, visibleTo(rights)))
      .limit(2)
  const found = await findByReference<Note>(ref, {
    id: (id) => byId(ctx.db, { id, ...rights }),
    name: (slug) => select(eq(notes.slug, slug.toLowerCase())),
    prefix: (prefix) => select(idStartsWith(notes.id, prefix)),
  })
  if (!found) throw notFound('note', ref)
  return found
}

type Change = Partial<typeof notes.$inferInsert>

export const changeNote = (ctx: Ctx, before: Note, set: Change): Promise<Note> =>
  updateVersioned(ctx, notes, {
    columns: noteColumns,
    before,
    set,
    what: 'this note',
    again: () => findNote(ctx, before.id),
  })

export const noteEvent = <D extends object>(note: Note, data?: D) => ({
  subjectId: note.id,
  organizationId: note.organizationId,
  projectId: note.projectId,
  userId: note.organizationId ? null : note.createdById,
  data: Object.assign({ title: note.title, version: note.version }, data),
})
