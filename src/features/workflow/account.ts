import { and, eq } from 'drizzle-orm'
import { emitChangedRows } from '../../records/synced-changes.ts'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { featureEvidence, featureReviews, features } from './table.ts'

/** Unassigns the features of a removed account, and removes its name from evidence and reviews, which stay. */
export const removeUserFromFeatures = accountRemoved.handle(async (ctx, { userId }) => {
  const theirs = await ctx.db
    .update(features)
    .set({ assigneeType: null, assigneeId: null })
    .where(and(eq(features.assigneeType, 'user'), eq(features.assigneeId, userId)))
    .returning({ id: features.id, organizationId: features.organizationId, projectId: features.projectId })
  emitChangedRows(ctx, 'feature', theirs)
  // For every type of actor, because an unnamed agent acts under its user's id.
  for (const table of [featureEvidence, featureReviews])
    await ctx.db.update(table).set({ actorId: null, actorName: FORMER_USER }).where(eq(table.actorId, userId))
  await ctx.db
    .update(featureEvidence)
    .set({ verifiedById: null, verifiedByName: FORMER_USER })
    .where(eq(featureEvidence.verifiedById, userId))
})
