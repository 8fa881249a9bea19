import { and, eq } from 'drizzle-orm'
import { emitChangedRows } from '../../records/synced-changes.ts'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { decisionComments, decisions } from './table.ts'

/** Replaces the author of decisions and comments whose account is deleted. */
export const removeDecisionAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  const former = { authorId: null, authorName: FORMER_USER }
  const theirs = await ctx.db
    .update(decisions)
    .set(former)
    .where(and(eq(decisions.authorType, 'user'), eq(decisions.authorId, userId)))
    .returning({ id: decisions.id, organizationId: decisions.organizationId, projectId: decisions.projectId })
  emitChangedRows(ctx, 'decision', theirs)
  await ctx.db
    .update(decisionComments)
    .set(former)
    .where(and(eq(decisionComments.authorType, 'user'), eq(decisionComments.authorId, userId)))
})
