import { type Ctx, write } from '../../../action.ts'
import { member } from '../../../auth/policy.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { allOrNone, invalid } from '../../../errors.ts'
import { lockProject } from '../../projects/lock.ts'
import { lockTeam } from '../../projects/names.ts'
import { findBlockers, setBlockers } from '../dependencies/dependencies.ts'
import { lockNeighbours } from '../dependencies/neighbours.ts'
import { findPlanningProject } from '../places.ts'
import { findTask } from '../rows.ts'
import type { Task, TaskCreate } from '../schema.ts'
import { create } from '../service.ts'
import { tasks } from '../table.ts'
import type { CreatedMany, CreateMany } from './many-schema.ts'

type NewTask = TaskCreate & { discoveredFrom?: string }

/** Creates several tasks, all or none: parts of a task, or tasks of a project without a story. */
export const createMany = write(
  'tasks.createMany',
  member('tasks:write'),
  async (
    ctx,
    { projectRef, parent, tasks: list }: Omit<CreateMany, 'tasks'> & { tasks: NewTask[]; projectRef?: string },
  ): Promise<CreatedMany> => {
    const above = parent === undefined ? undefined : await findTask(ctx, parent)
    const place = { projectRef: projectRef ?? above?.projectId, parentId: above?.id }
    return allOrNone(list.length, 'created', () => createAll(ctx, list, place))
  },
)

async function createAll(
  ctx: Ctx,
  list: readonly NewTask[],
  { projectRef, parentId }: { projectRef?: string; parentId?: string },
): Promise<CreatedMany> {
  const blocks = list.some(({ blockedBy }) => blockedBy?.length)
  if (blocks) await lockPlaces(ctx, projectRef, list)
  const made: Task[] = []
  for (const { blockedBy: _, ...input } of list)
    made.push(await create(ctx, { ...input, projectRef, ...(parentId && { parentId }) }))
  if (!blocks) return { items: made }
  await setNewBlockers(ctx, list, made)
  return { items: await Promise.all(made.map(({ id }) => findTask(ctx, id))) }
}

/**
 * Locks the projects and teams of the new tasks in the order of every other change: projects, teams, tasks. Otherwise
 * creating a part would lock its parent before the team, and could deadlock with a caller that holds the team.
 */
async function lockPlaces(ctx: Ctx, projectRef: string | undefined, list: readonly NewTask[]): Promise<void> {
  const places = new Map<string, string>()
  for (const origin of new Set(list.map(({ discoveredFrom }) => (projectRef ? undefined : discoveredFrom)))) {
    const { id, organizationId } = await findPlanningProject(
      ctx,
      origin ? (await findTask(ctx, origin)).projectId : projectRef,
    )
    places.set(id, organizationId)
  }
  for (const projectId of [...places.keys()].sort()) await lockProject(ctx, projectId)
  for (const organizationId of [...new Set(places.values())].sort()) await lockTeam(ctx, organizationId)
}

/** Sets the blockers of the new tasks, once all of them exist. */
async function setNewBlockers(ctx: Ctx, list: readonly NewTask[], made: readonly Task[]): Promise<void> {
  const pairs: { task: Task; blockers: string[] }[] = []
  for (const [i, task] of made.entries()) {
    const refs = list[i]?.blockedBy ?? []
    const named = refs.map((ref) => byTitle(ref, made) ?? ref)
    pairs.push({ task, blockers: await findBlockers(ctx, task.organizationId, named) })
  }
  const ids = idList(made.map(({ id }) => id))
  await lockNeighbours(ctx, anyOf(tasks.id, ids), [...new Set(pairs.flatMap(({ blockers }) => blockers))])
  for (const { task, blockers } of pairs) if (blockers.length > 0) await setBlockers(ctx, task, blockers)
}

/** Returns the id of the new task with this title, if there is one. */
function byTitle(ref: string, made: readonly Task[]): string | undefined {
  const found = made.filter(({ title }) => title.toLowerCase() === ref.trim().toLowerCase())
  if (found.length > 1)
    throw invalid('/tasks', `${found.length} tasks have the title ${JSON.stringify(ref)}. Give each its own.`)
  return found[0]?.id
}
