import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { placeholders, prepareDeferred } from '../../db/session.ts'
import type { Receipt } from './schema.ts'
import { syncReceipts } from './table.ts'

const columns = {
  mutationId: syncReceipts.mutationId,
  status: syncReceipts.status,
  conflicts: syncReceipts.conflicts,
  code: syncReceipts.code,
  detail: syncReceipts.detail,
  key: syncReceipts.key,
}

/** Returns the receipts of these mutations of a device, as far as there are any. */
export async function receiptsOf(ctx: Ctx, device: { id: string }, mutations: readonly string[]): Promise<Receipt[]> {
  if (mutations.length === 0) return []
  const rows = await ctx.db
    .select(columns)
    .from(syncReceipts)
    .where(and(eq(syncReceipts.deviceId, device.id), anyOf(syncReceipts.mutationId, idList(mutations))))
  return rows.map(toReceipt)
}

type Row = { [K in keyof typeof columns]: (typeof columns)[K]['_']['data'] | null }

const toReceipt = ({ mutationId, status, conflicts, code, detail, key }: Row): Receipt =>
  ({
    mutationId,
    status,
    ...(conflicts && { conflicts }),
    ...(code && { code }),
    ...(detail && { detail }),
    ...(key && { key }),
  }) as Receipt

const insert = prepareDeferred((db) =>
  db.insert(syncReceipts).values({
    ...placeholders('deviceId', 'mutationId', 'at', 'status', 'code', 'detail', 'key'),
    // As text, because the encoder of the column would turn null into a JSON value.
    conflicts: sql`${sql.placeholder('conflicts')}::text::jsonb`,
  }),
)

/**
 * Stores the result of a mutation at the commit, which fails with a unique violation if another call has decided on it
 * meanwhile.
 */
export function storeReceipt(ctx: Ctx, device: { id: string }, receipt: Receipt): void {
  const { mutationId, status, code = null, detail = null, key = null } = receipt
  const conflicts = receipt.conflicts ? JSON.stringify(receipt.conflicts) : null
  insert(ctx.db, { deviceId: device.id, mutationId, at: ctx.now, status, conflicts, code, detail, key })
}
