import { eq, gte, isNull, lt, ne, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, seesPersonal, userIdOf } from '../../auth/actor.ts'
import { requireWithinLimit } from '../../auth/limit.ts'
import { includePermissions, member, requireRole, requireRoleOn, throwIfRefused } from '../../auth/policy.ts'
import { anyRights, type Rights, rightsOf } from '../../auth/rights.ts'
import { randomTail } from '../../auth/secrets.ts'
import { listText, matchesWords, newId, queryWords } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { placeholders, prepare, prepareDeferred, prepareForms } from '../../db/session.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { requireContentSize } from '../../records/content-size.ts'
import { type KeysetForm, keyset, keysetOf } from '../../records/page.ts'
import { requireRestorer } from '../../records/restore-rights.ts'
import { findByReference, isRestorable } from '../../records/rows.ts'
import { emitMoved } from '../../records/synced-changes.ts'
import { slugify } from '../../text/text.ts'
import { projectFilter, projectOf } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { noteCreated, noteDeleted, noteRestored, noteUpdated } from './events.ts'
import { noteMoved } from './hooks.ts'
import { mentionsOf } from './mentions.ts'
import { resolveLinks } from './plain-links.ts'
import { canCreate, changeRefusal, noteWriteRule, scopeRefusal, withPermissions } from './refusals.ts'
import { changeNote, findNote, noteColumns, noteEvent, noteItemColumns, visibleTo } from './rows.ts'
import {
  CONTENT_BYTES,
  type Note,
  type NoteCreate,
  type NoteDetail,
  type NotePage,
  type NotePatch,
  type NoteQuery,
  type NoteRead,
} from './schema.ts'
import { notes } from './table.ts'

const orders = { updatedAt: notes.updatedAt, createdAt: notes.createdAt, title: notes.title }

const now = sql.placeholder('now')
const insertNote = prepareDeferred((db) =>
  db.insert(notes).values({
    ...placeholders(
      'id',
      'organizationId',
      'projectId',
      'scope',
      'createdById',
      'title',
      'slug',
      'content',
      'tags',
      'links',
      'pinned',
      'mentions',
    ),
    createdAt: now,
    updatedAt: now,
  }),
)

const notesLinkingTo = prepare((db) =>
  db
    .select({ id: notes.id, title: notes.title, slug: notes.slug })
    .from(notes)
    .where(
      and(
        sql`${notes.mentions} @> array[${sql.placeholder('title')}]::text[]`,
        ne(notes.id, sql.placeholder('id')),
        visibleTo(anyRights),
      ),
    )
    .orderBy(notes.title, notes.id)
    .limit(100),
)

/** The filters of a list, as values or placeholders. `tags` is an array literal, `words` a search query. */
type Filters = Partial<Record<Filter, string | Placeholder>>
type Filter = 'organizationId' | 'projectId' | 'tags' | 'words' | 'since' | 'until' | 'scope' | 'pinned'

/** The conditions of a list: common filters, and those of its two halves, team and personal notes. */
function conditionsOf(
  rights: Rights,
  { tags, words, since, until, projectId, scope, pinned, organizationId }: Filters,
) {
  return {
    filters: [
      visibleTo(rights),
      tags === undefined ? undefined : sql`${notes.tags} @> ${tags}::text[]`,
      words === undefined ? undefined : matchesWords(notes.search, words),
      since === undefined ? undefined : gte(notes.updatedAt, since),
      until === undefined ? undefined : lt(notes.updatedAt, until),
      projectId === undefined ? undefined : eq(notes.projectId, projectId),
      scope === undefined ? undefined : sql`${notes.scope} = ${scope}`,
      pinned === undefined ? undefined : sql`${notes.pinned} = (${pinned}::text)::boolean`,
    ],
    // Without an organization there is a project among the filters.
    ofTeam: organizationId === undefined ? sql`true` : eq(notes.organizationId, organizationId),
    personal: and(isNull(notes.organizationId), eq(notes.createdById, rights.personal)),
  }
}

interface ListForm extends KeysetForm {
  filters: (keyof Filters)[]
}

const pageOf = prepareForms((db, form: ListForm) => {
  const page = keysetOf(orders, notes.id, form)
  const values = placeholders(...form.filters)
  const { filters, ofTeam, personal } = conditionsOf(anyRights, values)
  // Each half reads its own index in order and stops at the limit; an OR of the two would read and sort all rows.
  const first = (half: SQL | undefined) =>
    sql`(select ${notes.id} from ${notes} where ${page.where(half, ...filters)}
      order by ${sql.join(page.orderBy, sql`, `)} limit ${page.limit})`
  return db
    .select(noteItemColumns)
    .from(notes)
    .where(sql`${notes.id} in (${first(ofTeam)} union all ${first(personal)})`)
    .orderBy(...page.orderBy)
    .limit(page.limit)
})

export const list = read(
  'notes.list',
  member('notes:read'),
  async (ctx, query: NoteQuery & { tags?: string[]; mustExist?: boolean }): Promise<NotePage> => {
    const page = keyset(orders, notes.id, query, { sort: 'updatedAt' })
    const rights = rightsOf(ctx.actor)
    const projectId = await projectFilter(ctx, query)
    const tags = query.tags ?? (query.tag === undefined ? [] : [query.tag])
    const values = {
      // A project may belong to another team, in a workspace that both share.
      organizationId: projectId === undefined ? currentOrganization(ctx.actor) : undefined,
      projectId,
      tags: tags.length > 0 ? listText(tags) : undefined,
      words: query.search ? queryWords(query.search) : undefined,
      since: query.since,
      until: query.until,
      scope: query.scope,
      pinned: query.pinned === undefined ? undefined : String(query.pinned),
    }
    const filters = (Object.keys(values) as (keyof typeof values)[]).filter((name) => values[name] !== undefined)
    const rows = await pageOf(ctx.db, { ...page.form, filters }, { ...rights, ...values, ...page.values })
    const total = query.total ? await countOf(ctx, conditionsOf(rights, values)) : undefined
    return { ...page.page(rows, total), ...includePermissions(ctx.actor, () => canCreate(ctx)) }
  },
)

const countOf = (ctx: Ctx, { filters, ofTeam, personal }: ReturnType<typeof conditionsOf>): Promise<number> =>
  ctx.db.$count(notes, and(or(ofTeam, personal), ...filters))

export const get = read(
  'notes.get',
  member('notes:read'),
  async (ctx, { ref }: { ref: string }): Promise<NoteRead> => withPermissions(ctx, await findNote(ctx, ref)),
)

/** Returns a note with the visible notes that name it as `[[title]]`. */
export const detail = read(
  'notes.detail',
  member('notes:read'),
  async (ctx, { ref }: { ref: string }): Promise<NoteDetail> => {
    const note = await findNote(ctx, ref)
    const backlinks = await notesLinkingTo(ctx.db, {
      id: note.id,
      title: note.title.toLowerCase(),
      ...rightsOf(ctx.actor),
    })
    return { ...note, backlinks }
  },
)

export const create = write(
  'notes.create',
  noteWriteRule,
  async (ctx, input: NoteCreate & { id?: string }): Promise<Note> => {
    const content = input.content ?? ''
    requireContentSize(content, CONTENT_BYTES)
    const place = await placeOf(ctx, input.projectId ?? (await projectOf(ctx, undefined))?.id ?? null, input.scope)
    // Built here, so that the insert can be deferred. Postgres stores only well-formed text.
    const note: Note = {
      id: input.id ?? newId(),
      createdAt: ctx.now,
      updatedAt: ctx.now,
      version: 1,
      organizationId: place.organizationId,
      createdById: userIdOf(ctx.actor),
      projectId: place.projectId,
      title: input.title.trim().toWellFormed(),
      slug: `${slugify(input.title) || 'note'}-${randomTail(10)}`,
      tags: (input.tags ?? []).map((tag) => tag.toWellFormed()),
      scope: place.scope,
      pinned: input.pinned ?? false,
      content: content.toWellFormed(),
      links: await resolveLinks(ctx, input.links ?? []),
    }
    insertNote(ctx.db, { ...note, mentions: mentionsOf(content), now: ctx.now })
    ctx.emit(noteCreated, noteEvent(note))
    return note
  },
)

export const update = write(
  'notes.update',
  noteWriteRule,
  async (ctx, { ref, links, ...fields }: NotePatch & { ref: string }): Promise<Note> => {
    const patch = { ...fields, ...(links && { links: await resolveLinks(ctx, links) }) }
    const before = await findNote(ctx, ref)
    throwIfRefused(await changeRefusal(ctx, before))
    checkVersion(ctx, before)
    if (patch.content !== undefined) requireContentSize(patch.content, CONTENT_BYTES)
    const moves = patch.scope !== undefined || patch.projectId !== undefined
    const place = moves
      ? await placeOf(
          ctx,
          patch.projectId === undefined ? before.projectId : patch.projectId,
          patch.scope ?? before.scope,
          before,
        )
      : undefined
    if (place && (place.organizationId !== before.organizationId || place.scope !== before.scope))
      throwIfRefused(scopeRefusal(ctx, before))
    const mentions = patch.content === undefined ? {} : { mentions: mentionsOf(patch.content) }
    const title = patch.title === undefined ? {} : { title: patch.title.trim() }
    const after = await changeNote(ctx, before, { ...patch, ...title, ...place, ...mentions })
    ctx.emit(noteUpdated, noteEvent(after, { fields: Object.keys(patch) }))
    emitMoved(ctx, 'note', after.id, noteEvent(before), noteEvent(after))
    if (after.organizationId !== before.organizationId)
      await noteMoved.call(ctx, { noteId: after.id, organizationId: after.organizationId })
    return after
  },
  { versioned: true },
)

export const remove = write(
  'notes.remove',
  noteWriteRule,
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findNote(ctx, ref)
    throwIfRefused(await changeRefusal(ctx, before))
    checkVersion(ctx, before)
    ctx.emit(noteDeleted, noteEvent(await changeNote(ctx, before, { deletedAt: ctx.now })))
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

/** Authors restore personal notes. Admins, and for a day the person who deleted it, restore a note of the team. */
export const restore = write(
  'notes.restore',
  noteWriteRule,
  async (ctx, { ref }: { ref: string }): Promise<Note> => {
    const state = isRestorable(notes.deletedAt, ctx.now)
    const found = await findByReference(ref, {
      id: (id) =>
        ctx.db
          .select({ ...noteColumns, deletedAt: notes.deletedAt })
          .from(notes)
          .where(and(eq(notes.id, id), visibleTo(rightsOf(ctx.actor), state))),
      name: async () => [],
      prefix: async () => [],
    })
    if (!found) throw notFound('note', ref)
    const { deletedAt, ...before } = found
    const { organizationId } = before
    throwIfRefused(await changeRefusal(ctx, before))
    if (organizationId)
      await requireRestorer(ctx, { ...before, organizationId, deletedAt }, noteDeleted, 'Restoring a note')
    checkVersion(ctx, before)
    if (deletedAt === null) return before
    const note = await changeNote(ctx, before, { deletedAt: null })
    ctx.emit(noteRestored, noteEvent(note))
    return note
  },
  { idempotent: true, versioned: true },
)

/** Returns the team, project and scope (default: team) of a note. A personal one belongs to no team and no project. */
async function placeOf(
  ctx: Ctx,
  projectId: string | null,
  asked: Note['scope'] | undefined,
  before?: Note,
): Promise<Pick<Note, 'organizationId' | 'projectId' | 'scope'>> {
  const project = projectId ? await projects.findProject(ctx, projectId) : undefined
  const scope = asked ?? 'team'
  requireWithinLimit(ctx.actor, project?.id, 'Writing a note')
  if (scope === 'personal') {
    if (project) throw invalid('/scope', 'A note in a project cannot be personal. Use the scope team or public.')
    if (!seesPersonal(ctx.actor))
      throw invalid('/scope', 'This credential is bound to another team and cannot create personal notes.')
    if (before && before.createdById !== ctx.actor.userId)
      throw new AppError('forbidden', 'Only the author of a note can make it personal.')
    return { organizationId: null, projectId: null, scope }
  }
  const organizationId = project?.organizationId ?? before?.organizationId ?? currentOrganization(ctx.actor)
  if (project && scope !== 'public') requireRoleOn(ctx.actor, project, 'member', 'Writing notes')
  else requireRole(ctx.actor, organizationId, 'member', 'Writing team or public notes')
  return { organizationId, projectId: project?.id ?? null, scope }
}
