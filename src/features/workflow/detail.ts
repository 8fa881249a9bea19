import { and, eq, isNull } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { mayRead } from '../../records/readable.ts'
import { workflowOf } from '../projects/workflow.ts'
import { specs } from '../specs/table.ts'
import { featurePullRequests } from './hooks.ts'
import { find, present, type Ref } from './reading.ts'
import { can } from './refusals.ts'
import type { FeatureDetail } from './schema.ts'
import { featureEvidence, featureReviews } from './table.ts'

export const get = read('workflow.get', member('features:read'), async (ctx, ref: Ref): Promise<FeatureDetail> => {
  const { row, project } = await find(ctx, ref)
  const evidence = await ctx.db
    .select()
    .from(featureEvidence)
    .where(eq(featureEvidence.featureId, row.id))
    .orderBy(featureEvidence.id)
    .limit(200)
  const reviews = await ctx.db
    .select()
    .from(featureReviews)
    .where(eq(featureReviews.featureId, row.id))
    .orderBy(featureReviews.id)
    .limit(200)
  const pulls = await featurePullRequests.call(ctx, { featureId: row.id })
  const saidBy = (said: { actorType: 'user' | 'agent' | 'system'; actorId: string | null; actorName: string }) => ({
    type: said.actorType,
    id: said.actorId,
    name: said.actorName,
  })
  return {
    ...(await present(ctx, project, row)),
    states: workflowOf(project).states,
    can: await can(ctx, project, row),
    spec: row.specId && mayRead(ctx, 'spec') ? await specOf(ctx, row.specId) : null,
    evidence: evidence.map((e) => ({
      id: e.id,
      gate: e.gate,
      level: e.level,
      evidence: e.evidence,
      actor: saidBy(e),
      createdAt: e.createdAt,
    })),
    reviews: reviews.map((r) => ({
      id: r.id,
      verdict: r.verdict,
      comments: r.comment,
      actor: saidBy(r),
      createdAt: r.createdAt,
    })),
    pullRequests: pulls.flat(),
  }
})

async function specOf(ctx: Ctx, id: string): Promise<FeatureDetail['spec']> {
  const [found] = await ctx.db
    .select({
      id: specs.id,
      title: specs.title,
      slug: specs.slug,
      status: specs.status,
      version: specs.version,
    })
    .from(specs)
    .where(and(eq(specs.id, id), isNull(specs.deletedAt)))
  return found ?? null
}

/** For paths that name the project as well: the feature has to belong to it. */
export const getIn = read(
  'workflow.getIn',
  member('features:read'),
  (ctx, ref: Required<Ref>): Promise<FeatureDetail> => get(ctx, ref),
)
