import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { shortId } from '../../records/rows.ts'
import type { Project } from '../projects/schema.ts'
import { projects } from '../projects/table.ts'
import { bringing, isClosed } from '../projects/workflow.ts'
import type { Missing, Workflow } from './schema.ts'
import { featureDependencies as dependencies, features } from './table.ts'

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
      ...bringing({
        tool: 'get_feature',
        route: `GET /api/features/${id}`,
        command: `tutti features show ${shortId(id)}`,
      }),
    }))

/** Replaces what a feature waits for. Those who change the order of work in a project take turns, or two of them could close a circle. */
export async function setBlockers(
  ctx: Ctx,
  project: Project,
  feature: { id: string },
  ids: readonly string[],
): Promise<void> {
  await takeTurns(ctx, project)
  const found = await ctx.db
    .select({ id: features.id })
    .from(features)
    .where(and(eq(features.projectId, project.id), isNull(features.deletedAt), inArray(features.id, [...ids])))
  const known = new Set(found.map(({ id }) => id))
  for (const id of ids) if (!known.has(id)) throw notFound('feature', id)
  const circle = wayTo(feature.id, ids, await edgesIn(ctx, project, feature))
  if (circle)
    throw invalid('/blockedBy', `These wait for each other: ${await inWords(ctx, [feature.id, ...circle])}.`, 'cycle')
  await ctx.db.delete(dependencies).where(eq(dependencies.featureId, feature.id))
  if (ids.length > 0)
    await ctx.db
      .insert(dependencies)
      .values(ids.map((blockedById) => ({ featureId: feature.id, blockedById, createdAt: ctx.now })))
}

const takeTurns = (ctx: Ctx, project: Project): Promise<unknown> =>
  ctx.db.select({ id: projects.id }).from(projects).where(eq(projects.id, project.id)).for('no key update')

/** Of all the others in the project. */
const edgesIn = (ctx: Ctx, project: Project, feature: { id: string }): Promise<{ from: string; to: string }[]> =>
  ctx.db
    .select({ from: dependencies.featureId, to: dependencies.blockedById })
    .from(dependencies)
    .innerJoin(features, and(eq(features.id, dependencies.blockedById), isNull(features.deletedAt)))
    .where(sql`${features.projectId} = ${project.id} and ${dependencies.featureId} <> ${feature.id}`)

/** For one that is back from deletion: others may wait for each other now in a way that it would close. */
export async function requireNoCircle(ctx: Ctx, project: Project, feature: { id: string }): Promise<void> {
  await takeTurns(ctx, project)
  const blockers = (await blockersOf(ctx, feature.id)).map(({ id }) => id)
  const circle = wayTo(feature.id, blockers, await edgesIn(ctx, project, feature))
  if (circle)
    throw new AppError(
      'conflict.cycle',
      `These would wait for each other: ${await inWords(ctx, [feature.id, ...circle])}. Take one of the dependencies out first.`,
    )
}

/** From one of these to the target that it waits for in the end. Every feature is looked at once: there may be thousands. */
export function wayTo(
  target: string,
  starts: readonly string[],
  edges: readonly { from: string; to: string }[],
): string[] | undefined {
  const waitsFor = Map.groupBy(edges, ({ from }) => from)
  const cameFrom = new Map<string, string | undefined>(starts.map((id) => [id, undefined]))
  // A map that grows while it is walked is walked to its end.
  for (const [id] of cameFrom) {
    if (id === target) {
      const way: string[] = []
      for (let at: string | undefined = id; at !== undefined; at = cameFrom.get(at)) way.unshift(at)
      return way
    }
    for (const { to } of waitsFor.get(id) ?? []) if (!cameFrom.has(to)) cameFrom.set(to, id)
  }
  return undefined
}

/** Those of one circle, if there is any; every edge is looked at once or twice, however many there are. */
export function circleIn(edges: readonly { from: string; to: string }[]): ReadonlySet<string> | undefined {
  const waiting = new Map<string, number>()
  for (const { from } of edges) waiting.set(from, (waiting.get(from) ?? 0) + 1)
  const waiters = Map.groupBy(edges, ({ to }) => to)
  // What waits for nothing is taken away, and then what waited for that: a set that grows while it is walked is walked to its end.
  const free = new Set(edges.flatMap(({ to }) => (waiting.has(to) ? [] : to)))
  for (const id of free)
    for (const { from } of waiters.get(id) ?? []) {
      const left = (waiting.get(from) as number) - 1
      waiting.set(from, left)
      if (left === 0) free.add(from)
    }
  const next = new Map(edges.flatMap(({ from, to }) => (free.has(from) || free.has(to) ? [] : [[from, to] as const])))
  // Each of the rest waits for another one of the rest, so whoever goes on and on comes back.
  let at = next.keys().next().value
  const way = new Set<string>()
  while (at !== undefined && !way.has(at)) {
    way.add(at)
    at = next.get(at)
  }
  return at === undefined ? undefined : new Set([...way].slice([...way].indexOf(at)))
}

const MOST_NAMED = 10

async function inWords(ctx: Ctx, way: readonly string[]): Promise<string> {
  const named = way.length > MOST_NAMED ? [...way.slice(0, MOST_NAMED - 1), ...way.slice(-1)] : way
  const rows = await ctx.db
    .select({ id: features.id, title: features.title })
    .from(features)
    .where(inArray(features.id, [...named]))
  const titles = new Map(rows.map(({ id, title }) => [id, title]))
  const texts = named.map((id) => titles.get(id) ?? id)
  return (
    named === way ? texts : [...texts.slice(0, -1), `… (${way.length - MOST_NAMED} more)`, ...texts.slice(-1)]
  ).join(' → ')
}
