import { and, eq, or } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { seesPersonal, userIdOf } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import type { RecordName } from '../../records/names.ts'
import { keyset } from '../../records/page.ts'
import { isVisibleRecord } from '../../records/readable.ts'
import { emitMoved } from '../../records/synced-changes.ts'
import { requireWriter } from '../projects/rows.ts'
import { findSeenRecords, type LinkEnd } from './ends.ts'
import { linkCreated, linkDeleted } from './events.ts'
import type { End, Link, LinkCreate, LinkPage, LinkQuery } from './schema.ts'
import { links } from './table.ts'

const visible = {
  id: links.id,
  createdAt: links.createdAt,
  kind: links.kind,
  fromType: links.fromType,
  fromId: links.fromId,
  toType: links.toType,
  toId: links.toId,
}
type Row = Omit<Link, 'from' | 'to'> & Record<'fromType' | 'toType', RecordName> & Record<'fromId' | 'toId', string>

async function endsOf(ctx: Ctx, rows: readonly Row[]): Promise<Map<string, LinkEnd>> {
  const wanted = Map.groupBy(
    rows.flatMap((row) => [
      { type: row.fromType, id: row.fromId },
      { type: row.toType, id: row.toId },
    ]),
    (end) => end.type,
  )
  const found = new Map<string, LinkEnd>()
  for (const [type, ends] of wanted)
    for (const end of await findSeenRecords(ctx, type, [...new Set(ends.map((e) => e.id))])) found.set(end.id, end)
  return found
}

const toEnd = ({ type, id, title, path }: End): End => ({ type, id, title, path })

/** Adds both ends to the links. Leaves out links of which the caller does not see both ends. */
async function withEnds(ctx: Ctx, rows: readonly Row[]): Promise<(Link & { ends: [LinkEnd, LinkEnd] })[]> {
  const ends = await endsOf(ctx, rows)
  return rows.flatMap(({ id, createdAt, kind, fromId, toId }) => {
    const [from, to] = [ends.get(fromId), ends.get(toId)]
    return from && to ? [{ id, createdAt, kind, from: toEnd(from), to: toEnd(to), ends: [from, to] }] : []
  })
}
const toLink = ({ ends: _, ...link }: Link & { ends: [LinkEnd, LinkEnd] }): Link => link

export const list = read(
  'links.list',
  member('links:read'),
  async (ctx, { type, id, ...query }: LinkQuery): Promise<LinkPage> => {
    const page = keyset({ createdAt: links.createdAt }, links.id, query, { sort: 'createdAt' })
    const from = and(eq(links.fromId, id), eq(links.fromType, type), isVisibleRecord(ctx, links.toType, links.toId))
    const to = and(eq(links.toId, id), eq(links.toType, type), isVisibleRecord(ctx, links.fromType, links.fromId))
    if ((await findSeenRecords(ctx, type, [id])).length === 0) return { items: [], nextCursor: null }
    const rows = await ctx.db
      .select(visible)
      .from(links)
      .where(page.where(or(from, to)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const { items, nextCursor } = page.page(rows)
    return { items: (await withEnds(ctx, items)).map(toLink), nextCursor }
  },
)

async function findVisibleLink(ctx: Ctx, id: string): Promise<Link & { ends: [LinkEnd, LinkEnd] }> {
  const [found] = await withEnds(ctx, await ctx.db.select(visible).from(links).where(eq(links.id, id)))
  if (!found) throw notFound('link', id)
  return found
}

export const get = read(
  'links.get',
  member('links:read'),
  async (ctx, { id }: { id: string }): Promise<Link> => toLink(await findVisibleLink(ctx, id)),
)

async function findEnd(ctx: Ctx, type: RecordName, id: string): Promise<LinkEnd> {
  const [found] = await findSeenRecords(ctx, type, [id])
  if (!found) throw notFound(type, id)
  return found
}

/** Requires write access to one of two visible records. Returns both ends, the one that the caller may change first. */
async function requireOneOf(ctx: Ctx, [from, to]: [LinkEnd, LinkEnd], what: string): Promise<[LinkEnd, LinkEnd]> {
  if (await mayChange(ctx, from)) return [from, to]
  if (await mayChange(ctx, to)) return [to, from]
  throw new AppError('forbidden', `${what} requires permission to change at least one of them. You can only read both.`)
}

async function mayChange(ctx: Ctx, { organizationId, projectId, ownerId }: LinkEnd): Promise<boolean> {
  if (organizationId === null) return ownerId === ctx.actor.userId && seesPersonal(ctx.actor)
  return requireWriter(ctx, { organizationId, projectId }, 'Linking').then(
    () => true,
    (error: unknown) => {
      if (error instanceof AppError && error.code === 'forbidden') return false
      throw error
    },
  )
}

/** Returns the existing link if there is one. `relates` has no direction, so a reversed link counts as existing. */
export const create = write(
  'links.create',
  member('links:write'),
  async (ctx, { kind = 'relates', ...input }: LinkCreate & { id?: string }): Promise<Link> => {
    if (input.fromId === input.toId) throw invalid('/toId', 'A record cannot be linked with itself.')
    const given: [LinkEnd, LinkEnd] = [
      await findEnd(ctx, input.fromType, input.fromId),
      await findEnd(ctx, input.toType, input.toId),
    ]
    const [from, to] = kind === 'relates' && given[0].id > given[1].id ? [given[1], given[0]] : given
    const ends = await requireOneOf(ctx, [from, to], 'Linking these records')
    const values = { fromType: from.type, fromId: from.id, toType: to.type, toId: to.id, kind }
    const [made] = await ctx.db
      .insert(links)
      .values({ id: input.id, ...values, createdById: userIdOf(ctx.actor), createdAt: ctx.now })
      .onConflictDoNothing()
      .returning(visible)
    const row = made ?? (await findExisting(ctx, from.id, to.id, kind))
    if (made) emitLinkEvent(ctx, linkCreated, made, ends)
    return { id: row.id, createdAt: row.createdAt, kind, from: toEnd(from), to: toEnd(to) }
  },
  { idempotent: true },
)

async function findExisting(ctx: Ctx, fromId: string, toId: string, kind: string): Promise<Row> {
  const [found] = await ctx.db
    .select(visible)
    .from(links)
    .where(and(eq(links.fromId, fromId), eq(links.toId, toId), eq(links.kind, kind)))
  if (!found)
    throw new AppError('conflict', 'This link was removed at the same time. Create it again if you still need it.')
  return found
}

export const remove = write(
  'links.remove',
  member('links:write'),
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const found = await findVisibleLink(ctx, id)
    const ends = await requireOneOf(ctx, found.ends, 'Removing this link')
    const [deleted] = await ctx.db.delete(links).where(eq(links.id, id)).returning(visible)
    if (!deleted) throw notFound('link', id)
    emitLinkEvent(ctx, linkDeleted, deleted, ends)
    return { id, deleted: true }
  },
  { destructive: true },
)

/**
 * Emits the event in the team of the first end that the caller may change, so that no one can write into the feed of
 * another team. It does not name the other end, which not everyone there may see. An event about a personal record is
 * for its owner only.
 */
function emitLinkEvent(
  ctx: Ctx,
  event: typeof linkCreated | typeof linkDeleted,
  { id, kind }: Pick<Row, 'id' | 'kind'>,
  [from, to]: [LinkEnd, LinkEnd],
): void {
  const isPersonal = [from, to].some((end) => end.organizationId === null || end.type === 'session')
  const { organizationId, projectId } = from
  const place = isPersonal ? { organizationId: null, userId: ctx.actor.userId } : { organizationId, projectId }
  ctx.emit(event, {
    subjectId: from.id,
    ...place,
    data: { linkId: id, kind, noun: from.type, title: from.title, other: to.type },
  })
  // Devices sync by team and project, so the change is also recorded where the other end is.
  for (const end of [from, to]) emitMoved(ctx, 'link', id, { ...end, userId: ctx.actor.userId }, place)
}

export type ImportedLink = Omit<Row, 'createdAt'>

/** Announces an imported link. Throws unless the caller may change both its ends in this team. */
export async function announceImported(ctx: Ctx, organizationId: string, link: ImportedLink): Promise<void> {
  const [from] = await findSeenRecords(ctx, link.fromType, [link.fromId])
  const [to] = await findSeenRecords(ctx, link.toType, [link.toId])
  const isHere = async (end: LinkEnd) =>
    [organizationId, null].includes(end.organizationId) && (await mayChange(ctx, end))
  if (!from || !to || !(await isHere(from)) || !(await isHere(to)))
    throw invalid('/records', `The records of the link ${link.id} are not in this team, or you cannot change them.`)
  emitLinkEvent(ctx, linkCreated, link, [from, to])
}
