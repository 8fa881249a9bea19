import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { Buckets, countAttempt, networkOf, tooManyError } from '../../auth/limits.ts'
import { anyone, memberOrAlone } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { isVisibleRecord } from '../../records/readable.ts'
import { findSeenRecords, type LinkEnd } from '../links/ends.ts'
import { isPublished } from '../notes/rows.ts'
import { notes } from '../notes/table.ts'
import { organizations } from '../organizations/table.ts'
import { requireWriter } from '../projects/rows.ts'
import { attachmentAdded, attachmentRemoved } from './events.ts'
import { findPending, removePending, storePending } from './pending.ts'
import { attachmentColumns, attachmentEvent, type Row, requireFileRoom, toAttachment } from './rows.ts'
import type {
  Attachment,
  AttachmentAdd,
  AttachmentPage,
  AttachmentQuery,
  PendingAdd,
  PendingUpload,
  Upload,
} from './schema.ts'
import { attachments } from './table.ts'
import { checkUpload } from './types.ts'

/** Uploads of one user in a minute: each one writes megabytes. */
const PER_MINUTE = 30
const uploadRule = memberOrAlone('uploads:write')

/** Finds the record that holds a file, and requires the right to change its text. */
async function findWritableRecord(
  ctx: Ctx,
  { kind, recordId }: Pick<Row, 'kind' | 'recordId'>,
  what: string,
): Promise<LinkEnd> {
  const [record] = await findSeenRecords(ctx, kind, [recordId])
  if (!record) throw notFound(kind, recordId)
  const { organizationId, projectId } = record
  // Only its author sees a record without a team.
  if (organizationId) await requireWriter(ctx, { organizationId, projectId }, what)
  return record
}

interface CheckedFile extends AttachmentAdd {
  type: string
  bytes: Uint8Array
}

const storeUpload = write(
  'attachments.store',
  uploadRule,
  async (ctx, { bytes, type, ...file }: CheckedFile): Promise<Attachment> => {
    const record = await findWritableRecord(ctx, file, 'Attaching a file')
    await requireFileRoom(ctx, record, { bytes: bytes.length, files: 1 })
    const row: Row = {
      ...file,
      type,
      id: crypto.randomUUID(),
      name: file.name.trim().toWellFormed(),
      size: bytes.length,
      createdById: userIdOf(ctx.actor),
      createdAt: ctx.now,
    }
    await ctx.db.insert(attachments).values({
      ...row,
      organizationId: record.organizationId,
      bytes: sql`decode(${Buffer.from(bytes).toString('base64')}, 'base64')`,
    })
    ctx.emit(attachmentAdded, attachmentEvent(record, row))
    return toAttachment(row)
  },
)

/** Checks a file outside the transaction, so that other transactions do not wait for it. */
async function inspect(ctx: Ctx, name: string, file: Uint8Array): Promise<Pick<CheckedFile, 'type' | 'bytes'>> {
  await countAttempt(ctx.app.driver, `upload:${userIdOf(ctx.actor)}`, PER_MINUTE, 60, ctx.app.clock(), 'uploads')
  const { type, bytes } = checkUpload(name, file)
  return { type, bytes }
}

export const add = flow(
  'attachments.add',
  uploadRule,
  async (ctx, { file, ...input }: AttachmentAdd & Upload): Promise<Attachment> =>
    storeUpload(ctx, { ...input, ...(await inspect(ctx, input.name, file)) }),
)

const storePendingUpload = write('attachments.storePending', uploadRule, storePending)

/** Stores a file before its record exists. */
export const addPending = flow(
  'attachments.addPending',
  uploadRule,
  async (ctx, { file, name }: PendingAdd & Upload): Promise<PendingUpload> =>
    storePendingUpload(ctx, { name: name.trim().toWellFormed(), ...(await inspect(ctx, name, file)) }),
)

export const list = read(
  'attachments.list',
  memberOrAlone('uploads:read'),
  async (ctx, { kind, recordId, ...query }: AttachmentQuery): Promise<AttachmentPage> => {
    const page = keyset({ createdAt: attachments.createdAt }, attachments.id, query, { sort: 'createdAt' })
    const { organizationId } = ctx.actor
    const filters = and(
      recordId || !organizationId ? undefined : eq(attachments.organizationId, organizationId),
      kind && eq(attachments.kind, kind),
      recordId ? eq(attachments.recordId, recordId) : undefined,
      isVisibleRecord(ctx, attachments.kind, attachments.recordId),
    )
    const rows = await ctx.db
      .select(attachmentColumns)
      .from(attachments)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(attachments, filters) : undefined
    return page.page(rows.map(toAttachment), total)
  },
)

export const remove = write(
  'attachments.remove',
  uploadRule,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const [row] = await ctx.db
      .select(attachmentColumns)
      .from(attachments)
      .where(and(eq(attachments.id, id), isVisibleRecord(ctx, attachments.kind, attachments.recordId)))
    if (!row) {
      if (await removePending(ctx, id)) return { id, deleted: true }
      throw notFound('file', id)
    }
    const record = await findWritableRecord(ctx, row, 'Deleting a file')
    await ctx.db.delete(attachments).where(eq(attachments.id, id))
    ctx.emit(attachmentRemoved, attachmentEvent(record, row))
    return { id, deleted: true }
  },
  { destructive: true },
)

/** Limits reads of each caller per minute, in pieces of 256 KiB: every read loads the file from the database. */
const PIECE = 256 << 10
const readBuckets = new Buckets(400, 400)

interface Stored {
  type: string
  name: string
  /** Null if the caller already has them. */
  bytes: Uint8Array<ArrayBuffer> | null
}

/**
 * Returns a file to callers who see its record, and to its author before it has one. Everyone can read the files of a
 * published note.
 */
export const get = read(
  'attachments.get',
  anyone,
  async (ctx, { id, known = false }: { id: string; known?: boolean }): Promise<Stored> => {
    const reader = ctx.actor.credentialId ?? networkOf(ctx.ip)
    const wait = known ? 0 : readBuckets.take(reader, performance.now(), 0)
    if (wait > 0) throw tooManyError(wait, 'files')
    const isPublic = sql`(${attachments.kind} = 'note' and exists (
      select 1 from ${notes} join ${organizations} on ${organizations.id} = ${notes.organizationId}
        and ${organizations.deletedAt} is null and ${organizations.sandboxOf} is null
      where ${notes.id} = ${attachments.recordId} and ${isPublished}))`
    const base64 = known ? sql<null>`null` : sql<string>`encode(${attachments.bytes}, 'base64')`
    const [attached] = await ctx.db
      .select({ type: attachments.type, name: attachments.name, base64 })
      .from(attachments)
      .where(
        and(
          eq(attachments.id, id),
          sql`(${isVisibleRecord(ctx, attachments.kind, attachments.recordId)} or ${isPublic})`,
        ),
      )
    const found = attached ?? (await findPending(ctx, id, known))
    if (!found) throw notFound('file', id)
    const bytes = found.base64 === null ? null : Buffer.from(found.base64, 'base64')
    if (bytes) readBuckets.charge(reader, Math.floor(bytes.length / PIECE))
    return { type: found.type, name: found.name, bytes }
  },
)
