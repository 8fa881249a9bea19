import { eq, isNull } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { mayRead } from '../../records/readable.ts'
import { linkedRecords } from '../links/linked-records.ts'
import * as projects from '../projects/rows.ts'
import { projectNamesFor } from '../projects/rows.ts'
import { workflowOf } from '../projects/workflow/workflow.ts'
import type { Workflow } from '../projects/workflow/workflow-schema.ts'
import { specs } from '../specs/table.ts'
import * as tasks from '../tasks/rows.ts'
import type { TaskItem } from '../tasks/schema.ts'
import { tasks as taskTable } from '../tasks/table.ts'
import { blockersOf } from './dependencies.ts'
import { actorOfRow, toSubmittedEvidence } from './evidence.ts'
import { featurePullRequests } from './hooks.ts'
import { type Found, findFeatureByRef, type Ref, toFeature } from './reading.ts'
import { featurePermissions } from './refusals.ts'
import type { FeatureDetail, FeatureView } from './schema.ts'
import { featureEvidence, featureReviews } from './table.ts'

export const get = read(
  'workflow.get',
  member('features:read'),
  async (ctx, ref: Ref): Promise<FeatureDetail> => detailOf(ctx, await findFeatureByRef(ctx, ref)),
)

async function detailOf(ctx: Ctx, { row, project }: Found): Promise<FeatureDetail> {
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
  return {
    ...(await toFeature(ctx, project, row)),
    states: workflowOf(project).states,
    can: await featurePermissions(ctx, project, row),
    spec: row.specId && mayRead(ctx, 'spec') ? await specOf(ctx, row.specId) : null,
    evidence: evidence.map(toSubmittedEvidence),
    reviews: reviews.map((r) => ({
      id: r.id,
      verdict: r.verdict,
      comments: r.comment,
      actor: actorOfRow(r),
      createdAt: r.createdAt,
    })),
    pullRequests: pulls.flat(),
  }
}

/** Returns a feature with its tasks, blockers, links and the workflow that it follows, for the page that shows it. */
export const getFeatureView = read(
  'workflow.view',
  member('features:read'),
  async (ctx, ref: Ref): Promise<FeatureView> => {
    const found = await findFeatureByRef(ctx, ref)
    const { row, project } = found
    return {
      ...(await detailOf(ctx, found)),
      project: { id: project.id, ...projectNamesFor(ctx, project) },
      workflow: workflowOf(project),
      tasks: mayRead(ctx, 'task') ? await tasksOf(ctx, row.taskIds) : [],
      blockers: await blockersOf(ctx, row.id),
      links: await linkedRecords(ctx, row),
    }
  },
)

async function tasksOf(ctx: Ctx, ids: readonly string[]): Promise<TaskItem[]> {
  if (ids.length === 0) return []
  const rows = await tasks
    .selectItems(ctx)
    .where(and(anyOf(taskTable.id, idList(ids)), tasks.visibleTo(rightsOf(ctx.actor))))
  const place = new Map(ids.map((id, at) => [id, at]))
  return rows.map((row) => tasks.toItem(row, ctx.now)).sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0))
}

/** Returns the workflow that the features of a project follow: its own, or the default one. */
export const getWorkflow = read(
  'workflow.inForce',
  member('features:read'),
  async (ctx, { project }: { project: string }): Promise<Workflow> =>
    workflowOf(await projects.findProject(ctx, project)),
)

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

/** For paths that also name the project: the feature has to belong to it. */
export const getIn = read(
  'workflow.getIn',
  member('features:read'),
  (ctx, ref: Required<Ref>): Promise<FeatureView> => getFeatureView(ctx, ref),
)
