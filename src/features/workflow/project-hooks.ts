import { isNull, sql } from 'drizzle-orm'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { projectWork } from '../projects/hooks.ts'
import { isAtGate, workflowOf } from '../projects/workflow/workflow.ts'
import { features } from './table.ts'

/** Counts the features of each project, and those that wait at a gate or for a review. */
export const countFeatures = projectWork.handle(async (ctx, { projects }) => {
  const rows = await ctx.db
    .select({ id: features.projectId, status: features.status, n: sql<number>`count(*)::int` })
    .from(features)
    .where(and(anyOf(features.projectId, idList(projects.map(({ id }) => id))), isNull(features.deletedAt)))
    .groupBy(features.projectId, features.status)
  return new Map(
    projects.map((project) => {
      const workflow = workflowOf(project)
      const own = rows.filter(({ id }) => id === project.id)
      const sum = (some: typeof own) => some.reduce((total, { n }) => total + n, 0)
      return [
        project.id,
        { features: sum(own), openGates: sum(own.filter(({ status }) => isAtGate(workflow, status))) },
      ]
    }),
  )
})
