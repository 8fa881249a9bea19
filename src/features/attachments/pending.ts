/** Files that were uploaded before their record exists. The creation of the record names them, and attaches them. */
import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { AppError, notFound } from '../../errors.ts'
import { findSeenRecords } from '../links/ends.ts'
import { filesNamed } from '../tasks/hooks.ts'
import { attachmentAdded } from './events.ts'
import { attachmentEvent, requireFileRoom } from './rows.ts'
import type { PendingUpload } from './schema.ts'
import { attachments, pendingUploads } from './table.ts'

/** Files and bytes that one user may have waiting. */
const MOST_FILES = 100
const MOST_BYTES = 256 << 20

const isOwn = (ctx: Ctx) => eq(pendingUploads.userId, userIdOf(ctx.actor))

async function requirePendingRoom(ctx: Ctx, size: number): Promise<void> {
  const [used] = await ctx.db
    .select({ files: sql<string>`count(*)`, bytes: sql<string>`coalesce(sum(${pendingUploads.size}), 0)` })
    .from(pendingUploads)
    .where(isOwn(ctx))
  if (Number(used?.files) >= MOST_FILES || Number(used?.bytes) + size > MOST_BYTES)
    throw new AppError(
      'conflict',
      `At most ${MOST_FILES} files with ${MOST_BYTES >> 20} MiB can wait for their record. Create the record, or delete some files.`,
    )
}

interface PendingFile {
  name: string
  type: string
  bytes: Uint8Array
}

export async function storePending(ctx: Ctx, { name, type, bytes }: PendingFile): Promise<PendingUpload> {
  await requirePendingRoom(ctx, bytes.length)
  const row = { id: crypto.randomUUID(), name, type, size: bytes.length, createdAt: ctx.now }
  await ctx.db.insert(pendingUploads).values({
    ...row,
    userId: userIdOf(ctx.actor),
    bytes: sql`decode(${Buffer.from(bytes).toString('base64')}, 'base64')`,
  })
  return { ...row, path: `/api/uploads/${row.id}` }
}

interface PendingContent {
  type: string
  name: string
  base64: string | null
}

/** Returns a file of the caller that waits for its record. `known`: without its bytes. */
export async function findPending(ctx: Ctx, id: string, known: boolean): Promise<PendingContent | undefined> {
  if (!ctx.actor.userId) return undefined
  const base64 = known ? sql<null>`null` : sql<string>`encode(${pendingUploads.bytes}, 'base64')`
  const [found] = await ctx.db
    .select({ type: pendingUploads.type, name: pendingUploads.name, base64 })
    .from(pendingUploads)
    .where(and(eq(pendingUploads.id, id), isOwn(ctx)))
  return found
}

/** Deletes a file of the caller that waits for its record. Returns whether there was one. */
export async function removePending(ctx: Ctx, id: string): Promise<boolean> {
  const removed = await ctx.db
    .delete(pendingUploads)
    .where(and(eq(pendingUploads.id, id), isOwn(ctx)))
    .returning({ id: pendingUploads.id })
  return removed.length > 0
}

/** One statement, so that of two tasks that name the same file only one gets it. */
const attachToTask = (ctx: Ctx, taskId: string, organizationId: string | null, ids: readonly string[]) => sql`
  with taken as (
    delete from ${pendingUploads} where ${anyOf(pendingUploads.id, idList(ids))} and ${isOwn(ctx)} returning *)
  insert into ${attachments} (id, kind, record_id, organization_id, created_by_id, name, type, size, bytes, created_at)
  select id, 'task', ${taskId}::uuid, ${organizationId}::uuid, user_id, name, type, size, bytes, ${ctx.now}::timestamptz
  from taken returning id, name, size`

export const attachNamedFiles = filesNamed.handle(async (ctx, { task, files }) => {
  const [record] = await findSeenRecords(ctx, 'task', [task.id])
  if (!record) throw notFound('task', task.id)
  const [used] = await ctx.db
    .select({ bytes: sql<string>`coalesce(sum(${pendingUploads.size}), 0)` })
    .from(pendingUploads)
    .where(and(anyOf(pendingUploads.id, idList(files)), isOwn(ctx)))
  await requireFileRoom(ctx, record, { bytes: Number(used?.bytes), files: files.length })
  const { rows } = await ctx.db.execute<{ id: string; name: string; size: number }>(
    attachToTask(ctx, task.id, record.organizationId, files),
  )
  const missing = files.find((id) => !rows.some((row) => row.id === id))
  if (missing) throw notFound('file', missing)
  for (const file of rows)
    ctx.emit(attachmentAdded, attachmentEvent(record, { ...file, kind: 'task', recordId: task.id }))
})
