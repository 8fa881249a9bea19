import { and, eq } from 'drizzle-orm'
import { nameRows } from '../../records/changed.ts'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { memories } from './table.ts'

/** Replaces the author of memories whose account is deleted. */
export const withoutAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  const theirs = await ctx.db
    .update(memories)
    .set({ authorId: null, authorName: FORMER_USER })
    .where(and(eq(memories.authorType, 'user'), eq(memories.authorId, userId)))
    .returning({ id: memories.id, organizationId: memories.organizationId, projectId: memories.projectId })
  nameRows(ctx, 'memory', theirs)
})
