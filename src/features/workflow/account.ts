import { and, eq } from 'drizzle-orm'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { featureEvidence, featureReviews, features } from './table.ts'

/** Features lose the assignee who left; their evidence and reviews stay, without the name. */
export const withoutUser = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db
    .update(features)
    .set({ assigneeType: null, assigneeId: null })
    .where(and(eq(features.assigneeType, 'user'), eq(features.assigneeId, userId)))
  // Whatever the type of the actor: an agent that was not named acts under its user's id.
  for (const table of [featureEvidence, featureReviews])
    await ctx.db.update(table).set({ actorId: null, actorName: FORMER_USER }).where(eq(table.actorId, userId))
})
