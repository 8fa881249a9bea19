import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { invalid, notFound } from '../../errors.ts'
import type { Project } from '../projects/schema.ts'
import { projects } from '../projects/table.ts'
import type { Missing, Workflow } from './schema.ts'
import { featureDependencies as dependencies, features } from './table.ts'
import { isClosed } from './workflow.ts'

/** What a feature waits for; what was deleted is waited for no more. */
export const blockersOf = (ctx: Ctx, featureId: string): Promise<{ id: string; title: string; status: string }[]> =>
  ctx.db
    .select({ id: features.id, title: features.title, status: features.status })
    .from(dependencies)
    .innerJoin(features, and(eq(features.id, dependencies.blockedById), isNull(features.deletedAt)))
    .where(eq(dependencies.featureId, featureId))
    .orderBy(features.id)

export const openOnes = (workflow: Workflow, blockers: { id: string; title: string; status: string }[]): Missing[] =>
  blockers
    .filter(({ status }) => !isClosed(workflow, status))
    .map(({ id, title, status }) => ({
      item: `blockedBy ${id}`,
      needs: `${JSON.stringify(title)}, which is ${status}, to be closed first`,
      call: `get_feature (GET /api/features/${id}) shows what it still needs`,
    }))

/** Replaces what a feature waits for. Those who change the order of work in a project take turns, or two of them could close a circle. */
export async function setBlockers(
  ctx: Ctx,
  project: Project,
  feature: { id: string; title: string },
  ids: readonly string[],
): Promise<void> {
  await ctx.db.select({ id: projects.id }).from(projects).where(eq(projects.id, project.id)).for('no key update')
  const known = await ctx.db
    .select({ id: features.id, title: features.title })
    .from(features)
    .where(and(eq(features.projectId, project.id), isNull(features.deletedAt), inArray(features.id, [...ids, feature.id])))
  const titles = new Map(known.map(({ id, title }) => [id, title]))
  for (const id of ids) if (!titles.has(id)) throw notFound('feature', id)
  const edges = await ctx.db
    .select({ from: dependencies.featureId, to: dependencies.blockedById, title: features.title })
    .from(dependencies)
    .innerJoin(features, and(eq(features.id, dependencies.blockedById), isNull(features.deletedAt)))
    .where(sql`${features.projectId} = ${project.id} and ${dependencies.featureId} <> ${feature.id}`)
  const circle = ids.map((id) => pathTo(feature.id, { id, title: titles.get(id) as string }, edges)).find(Boolean)
  if (circle) throw invalid('/blockedBy', `These wait for each other: ${[feature.title, ...circle].join(' → ')}.`, 'cycle')
  await ctx.db.delete(dependencies).where(eq(dependencies.featureId, feature.id))
  if (ids.length > 0)
    await ctx.db.insert(dependencies).values(ids.map((blockedById) => ({ featureId: feature.id, blockedById, createdAt: ctx.now })))
}

type Edge = { from: string; to: string; title: string }

/** Titles on the way from one feature to another that it waits for in the end. */
function pathTo(target: string, start: { id: string; title: string }, edges: readonly Edge[]): string[] | undefined {
  const seen = new Map<string, string[]>([[start.id, [start.title]]])
  for (const [id, path] of seen) {
    if (id === target) return path
    for (const edge of edges) if (edge.from === id && !seen.has(edge.to)) seen.set(edge.to, [...path, edge.title])
  }
  return undefined
}
