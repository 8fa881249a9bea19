import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { tasks } from './table.ts'

/** As if the lease had run out: what was begun is there for the next one to go on with. */
export const abandoned = (now: string) => ({
  leaseExpiresAt: sql`case when ${tasks.leaseExpiresAt} > ${now}::timestamptz then ${now}::timestamptz else ${tasks.leaseExpiresAt} end`,
})

/** Who is gone works on nothing: what he was to do is anybody's, and what he began can be gone on with. */
export async function letGo(ctx: Ctx, { type, id }: { type: 'user' | 'agent'; id: string }): Promise<void> {
  await ctx.db
    .update(tasks)
    .set(abandoned(ctx.now))
    .where(and(eq(tasks.leaseType, type), eq(tasks.leaseHolderId, id)))
  await ctx.db
    .update(tasks)
    .set({ assigneeType: null, assigneeId: null, updatedAt: ctx.now, version: sql`${tasks.version} + 1` })
    .where(and(eq(tasks.assigneeType, type), eq(tasks.assigneeId, id)))
}
