import type { Ctx } from '../../action.ts'
import { newId } from '../../db/columns.ts'
import { notifications } from './table.ts'

export interface Notice {
  userId: string
  type?: 'info' | 'success' | 'warning' | 'error'
  /** Why: `invite`, `security`, `admin`, `assignment`, `mention`, `review`, `freed`, `needs_you`. */
  reason: string
  title: string
  message?: string
  /** A path of this instance, or an address. */
  link?: string
  announcementId?: string
}

/** In the running transaction: whatever wants a person's attention calls this. */
export async function notify(ctx: Ctx, ...notices: Notice[]): Promise<void> {
  if (notices.length === 0) return
  const rows = notices.map((notice) => ({ id: newId(), type: 'info' as const, ...notice, createdAt: ctx.now, updatedAt: ctx.now }))
  await ctx.db.insert(notifications).values(rows)
  for (const { id, userId, type, reason, title } of rows)
    ctx.emit('notification.created', { subjectId: id, userId, data: { type, reason, title } })
}
