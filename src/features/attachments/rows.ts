import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { AppError } from '../../errors.ts'
import type { RecordName } from '../../records/names.ts'
import type { LinkEnd } from '../links/ends.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import type { Attachment } from './schema.ts'
import { attachments } from './table.ts'

/** Files of one record, so that a page shows all of them. */
const OF_RECORD = 200
const OF_TASK = 50
/** Bytes of all files of a team, and of one user's personal records. */
const OF_TEAM = 2 ** 30
const OF_USER = 256 << 20

export const attachmentColumns = {
  id: attachments.id,
  kind: attachments.kind,
  recordId: attachments.recordId,
  name: attachments.name,
  type: attachments.type,
  size: attachments.size,
  createdById: attachments.createdById,
  createdAt: attachments.createdAt,
}
export type Row = Omit<Attachment, 'path' | 'kind'> & { kind: RecordName }
export const toAttachment = (row: Row): Attachment => ({ ...row, path: `/api/uploads/${row.id}` }) as Attachment

/**
 * Requires room for files: within the plan of the team, else within a general limit. Two concurrent uploads may exceed
 * the general limit by one file.
 */
export async function requireFileRoom(
  ctx: Ctx,
  { type, organizationId, id }: LinkEnd,
  more: { bytes: number; files: number },
): Promise<void> {
  const owner = organizationId
    ? eq(attachments.organizationId, organizationId)
    : and(isNull(attachments.organizationId), eq(attachments.createdById, userIdOf(ctx.actor)))
  const [used] = await ctx.db
    .select({
      bytes: sql<string>`coalesce(sum(${attachments.size}), 0)`,
      here: sql<string>`count(*) filter (where ${attachments.recordId} = ${id})`,
    })
    .from(attachments)
    .where(owner)
  const isPlanned = organizationId
    ? await requirePlanRoom(ctx, organizationId, 'storageMb', { more: more.bytes / 2 ** 20 })
    : false
  const most = isPlanned ? Number.POSITIVE_INFINITY : organizationId ? OF_TEAM : OF_USER
  if (Number(used?.bytes) + more.bytes > most)
    throw new AppError(
      'too_large',
      `All files together can have at most ${most >> 20} MiB. Delete files that you no longer need.`,
    )
  const mostFiles = type === 'task' ? OF_TASK : OF_RECORD
  if (Number(used?.here) + more.files > mostFiles)
    throw new AppError(
      'conflict',
      `A ${type} can have at most ${mostFiles} files. Delete files that you no longer need.`,
    )
}

export const attachmentEvent = (
  record: LinkEnd,
  { id, name, size, kind, recordId }: Pick<Row, 'id' | 'name' | 'size' | 'kind' | 'recordId'>,
) => ({
  subjectId: id,
  organizationId: record.organizationId,
  projectId: record.projectId,
  userId: record.organizationId ? null : record.ownerId,
  data: { name, size, noun: kind, record: kind, recordId },
})
