import { eq } from 'drizzle-orm'
import { mayRead } from '../../records/readable.ts'
import { featurePullRequests } from '../workflow/hooks.ts'
import { pullRequests } from './table.ts'

export const pullRequestsOfFeature = featurePullRequests.handle(async (ctx, { featureId }) =>
  mayRead(ctx, 'repository')
    ? ctx.db
        .select({ number: pullRequests.number, title: pullRequests.title, url: pullRequests.url })
        .from(pullRequests)
        .where(eq(pullRequests.featureId, featureId))
        .orderBy(pullRequests.createdAt, pullRequests.id)
        .limit(50)
    : [],
)
