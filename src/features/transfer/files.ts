import { and, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { NO_USER_ID } from '../../auth/actor.ts'
import { scopeHolds } from '../../auth/policy.ts'
import { check } from '../../check.ts'
import { AppError, invalid } from '../../errors.ts'
import { holderNames, type RecordName } from '../../records/names.ts'
import { id, instant, int, nullable, object, oneOf, type Static, text, title } from '../../schema.ts'
import { attachmentColumns, requireFileRoom } from '../attachments/rows.ts'
import { FILE_BYTES } from '../attachments/schema.ts'
import { attachments } from '../attachments/table.ts'
import { checkUpload } from '../attachments/types.ts'
import { findSeenRecords, type LinkEnd } from '../links/ends.ts'
import { aliasOf } from './aliases.ts'

/** The files in the texts of records. A file is one line of an export, with its bytes. */

/** Maximum size of a request that imports a file. */
export const LARGEST_LINE = 16 << 20

const ImportedFile = object({
  id: id(),
  kind: oneOf(holderNames),
  recordId: id(),
  name: title(200),
  type: text(100),
  size: int(),
  createdById: nullable(id()),
  createdAt: instant(),
  base64: text(Math.ceil(FILE_BYTES / 3) * 4),
})
type ImportedFile = Static<typeof ImportedFile>

/**
 * Reads the files of records of a kind, the bytes of one at a time. `now` is called before each file and selects the
 * records that the caller sees then; undefined ends the loop.
 */
export async function* filesOf(
  kind: string,
  now: () => Promise<{ ctx: Ctx; records: SQL } | undefined>,
): AsyncGenerator<Record<string, unknown>> {
  if (!holderNames.some((holder) => holder === kind)) return
  for (let after = NO_USER_ID; ; ) {
    const seen = await now()
    if (!seen) return
    const [found] = await seen.ctx.db
      // Postgres breaks base64 into lines.
      .select({
        ...attachmentColumns,
        base64: sql<string>`translate(encode(${attachments.bytes}, 'base64'), ${'\n'}, '')`,
      })
      .from(attachments)
      .where(
        and(
          eq(attachments.kind, kind as RecordName),
          sql`${attachments.recordId} in ${seen.records}`,
          gt(attachments.id, sql`${after}::uuid`),
        ),
      )
      .orderBy(attachments.id)
      .limit(1)
    if (!found) return
    yield found
    after = found.id
  }
}

/** Returns the line of a file if it could have been exported. Throws `invalid`, or `forbidden` without the scope. */
export function checkFile({ actor }: Ctx, record: Record<string, unknown>): ImportedFile {
  const [error] = check(ImportedFile, record)
  if (error) throw invalid('/records', `The file ${record.id}: ${error.message}`)
  if (!scopeHolds(actor.scopes, 'uploads:write'))
    throw new AppError('forbidden', 'This credential lacks the scope uploads:write, which importing a file needs.', {
      scope: 'uploads:write',
    })
  return record as ImportedFile
}

/**
 * Stores a file of another server, unless it exists. Returns its record if it is new. Throws unless the record belongs
 * to this team or the caller, and an upload would have stored the same bytes.
 */
export async function storeFile(
  ctx: Ctx,
  organizationId: string,
  { base64, ...file }: ImportedFile,
): Promise<LinkEnd | undefined> {
  const [record] = await findSeenRecords(ctx, file.kind, [file.recordId])
  if (!record || ![organizationId, null].includes(record.organizationId))
    throw invalid('/records', `The ${file.kind} of the file ${file.id} is not in this team.`)
  const ownerOf = async (id: string) => {
    const where = eq(attachments.id, id)
    return (await ctx.db.select({ id: attachments.recordId }).from(attachments).where(where))[0]?.id
  }
  const owner = await ownerOf(file.id)
  // If another record has a file with this id, this file gets another id.
  const id = owner && owner !== file.recordId ? aliasOf(organizationId, file.id) : file.id
  if (owner === file.recordId || (id !== file.id && (await ownerOf(id)))) return undefined
  const { type, bytes } = checkUpload(file.name, Buffer.from(base64, 'base64'))
  if (type !== file.type || bytes.length !== file.size)
    throw invalid('/records', `The content of the file ${file.id} does not match its type and size.`)
  await requireFileRoom(ctx, record, { bytes: bytes.length, files: 1 })
  await ctx.db.insert(attachments).values({
    ...file,
    id,
    organizationId: record.organizationId,
    bytes: sql`decode(${Buffer.from(bytes).toString('base64')}, 'base64')`,
  })
  return record
}
