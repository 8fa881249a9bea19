import { and, eq, isNull } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { rightsOf } from '../../auth/rights.ts'
import * as decisions from '../decisions/service.ts'
import * as notes from '../notes/service.ts'
import { createPlan } from '../planning/service.ts'
import { lockTeam } from '../projects/names.ts'
import { projectColumns, visibleTo } from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import * as tasks from '../tasks/service.ts'
import { advanceFeature } from '../workflow/advancing.ts'
import * as workflow from '../workflow/service.ts'
import { sample } from './sample-content.ts'

/**
 * Creates the sample project of a team with the same actions that people use, so it can be changed and deleted like any
 * other. A team has one: if the caller can see it, it is returned instead of a second one.
 */
export const createSample = write(
  'onboarding.sample',
  projects.create.rule,
  async (ctx, _: Record<string, never>): Promise<Project> => {
    const organizationId = currentOrganization(ctx.actor)
    await lockTeam(ctx, organizationId)
    const existing = await findSample(ctx, organizationId)
    if (existing) return existing
    const project = await projects.create(ctx, sample.project)
    // Deleting the project undoes it, not undoing the states of its tasks.
    await fillSample({ ...ctx, change: undefined }, project)
    return project
  },
)

async function findSample(ctx: Ctx, organizationId: string): Promise<Project | undefined> {
  const [found] = await ctx.db
    .select(projectColumns)
    .from(projectTable)
    .where(
      and(
        visibleTo(rightsOf(ctx.actor)),
        eq(projectTable.organizationId, organizationId),
        eq(projectTable.name, sample.project.name),
        eq(projectTable.status, 'active'),
        isNull(projectTable.deletedAt),
      ),
    )
    .orderBy(projectTable.createdAt, projectTable.id)
    .limit(1)
  return found
}

async function fillSample(ctx: Ctx, { id: projectId }: Project): Promise<void> {
  const { epics } = await createPlan(ctx, { ref: projectId, epics: sample.epics })
  const planned = epics.flatMap(({ stories }) => stories.flatMap((story) => story.tasks))
  const idOf = (title: string): string => planned.find((task) => task.title === title)?.id ?? title
  // Features first: they begin while their tasks are open, and stop at the first gate.
  for (const { taskIds = [], ...feature } of sample.features) {
    const { id: ref } = await workflow.create(ctx, { ...feature, project: projectId, taskIds: taskIds.map(idOf) })
    await advanceFeature(ctx, { ref })
  }
  for (const [title, change] of Object.entries(sample.changes)) await tasks.update(ctx, { ref: idOf(title), ...change })
  for (const note of sample.notes) await notes.create(ctx, { ...note, projectId })
  for (const decision of sample.decisions) await decisions.create(ctx, { ...decision, projectId })
}
