import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { findPath } from '../../records/cycles.ts'
import { shortId } from '../../records/rows.ts'
import { quoteText } from '../../text/quoting.ts'
import { lockProject } from '../projects/lock.ts'
import type { Project } from '../projects/schema.ts'
import { isClosed, providedBy } from '../projects/workflow/workflow.ts'
import type { Missing, Workflow } from '../projects/workflow/workflow-schema.ts'
import { featureDependencies as dependencies, features } from './table.ts'

/** Returns the blockers of a feature that are not deleted. */
export const blockersOf = (ctx: Ctx, featureId: string): Promise<{ id: string; title: string; status: string }[]> =>
  ctx.db
    .select({ id: features.id, title: features.title, status: features.status })
    .from(dependencies)
    .innerJoin(features, and(eq(features.id, dependencies.blockedById), isNull(features.deletedAt)))
    .where(eq(dependencies.featureId, featureId))
    .orderBy(features.id)

export const missingBlockers = (
  workflow: Workflow,
  blockers: { id: string; title: string; status: string }[],
): Missing[] =>
  blockers
    .filter(({ status }) => !isClosed(workflow, status))
    .map(({ id, title, status }) => ({
      item: `blockedBy ${id}`,
      needs: `${quoteText(title)}, which is ${status}, to be closed first`,
      ...providedBy({
        tool: 'get_feature',
        route: `GET /api/features/${id}`,
        command: `tutti features show ${shortId(id)}`,
      }),
    }))

/**
 * Replaces a feature's blockers. Locks the project, because two concurrent changes could together create a cycle.
 */
export async function setBlockers(
  ctx: Ctx,
  project: Project,
  feature: { id: string },
  ids: readonly string[],
): Promise<void> {
  await lockProject(ctx, project.id)
  const found = await ctx.db
    .select({ id: features.id })
    .from(features)
    .where(and(eq(features.projectId, project.id), isNull(features.deletedAt), inArray(features.id, [...ids])))
  const known = new Set(found.map(({ id }) => id))
  for (const id of ids) if (!known.has(id)) throw notFound('feature', id)
  const circle = findPath(feature.id, ids, await edgesIn(ctx, project, feature))
  if (circle)
    throw invalid(
      '/blockedBy',
      `These features block each other: ${await inWords(ctx, [feature.id, ...circle])}.`,
      'cycle',
    )
  await ctx.db.delete(dependencies).where(eq(dependencies.featureId, feature.id))
  if (ids.length > 0)
    await ctx.db
      .insert(dependencies)
      .values(ids.map((blockedById) => ({ featureId: feature.id, blockedById, createdAt: ctx.now })))
}

/** Dependencies of all other features in the project. */
const edgesIn = (ctx: Ctx, project: Project, feature: { id: string }): Promise<{ from: string; to: string }[]> =>
  ctx.db
    .select({ from: dependencies.featureId, to: dependencies.blockedById })
    .from(dependencies)
    .innerJoin(features, and(eq(features.id, dependencies.blockedById), isNull(features.deletedAt)))
    .where(sql`${features.projectId} = ${project.id} and ${dependencies.featureId} <> ${feature.id}`)

/** Call after restoring a feature: dependencies that were added meanwhile may form a cycle with its own. */
export async function requireNoCircle(ctx: Ctx, project: Project, feature: { id: string }): Promise<void> {
  await lockProject(ctx, project.id)
  const blockers = (await blockersOf(ctx, feature.id)).map(({ id }) => id)
  const circle = findPath(feature.id, blockers, await edgesIn(ctx, project, feature))
  if (circle)
    throw new AppError(
      'conflict.cycle',
      `These features would block each other: ${await inWords(ctx, [feature.id, ...circle])}. Remove a dependency.`,
    )
}

const MOST_NAMED = 10

async function inWords(ctx: Ctx, way: readonly string[]): Promise<string> {
  const named = way.length > MOST_NAMED ? [...way.slice(0, MOST_NAMED - 1), ...way.slice(-1)] : way
  const rows = await ctx.db
    .select({ id: features.id, title: features.title })
    .from(features)
    .where(inArray(features.id, [...named]))
  const titles = new Map(rows.map(({ id, title }) => [id, quoteText(title)]))
  const texts = named.map((id) => titles.get(id) ?? id)
  return (
    named === way ? texts : [...texts.slice(0, -1), `… (${way.length - MOST_NAMED} more)`, ...texts.slice(-1)]
  ).join(' → ')
}
