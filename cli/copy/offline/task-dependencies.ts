import type { Related, TaskDetail, WaitsFor } from '../../../src/features/tasks/schema.ts'
import { isClosed } from '../../../src/records/task-states.ts'
import type { Row } from '../mutation.ts'
import { asText, asTextOrNull, type CopyView } from './copy-view.ts'
import { taskKey } from './task-key.ts'

const relatedTask = (world: CopyView, task: Row, kind: unknown): Related => ({
  id: task.id,
  key: taskKey(world, task),
  title: asText(task.title),
  status: (task.status ?? 'todo') as Related['status'],
  kind: (kind ?? 'blocks') as Related['kind'],
})

const isBlocker = ({ kind }: Row): boolean => (kind ?? 'blocks') === 'blocks'

/** Returns the tasks at the other ends of the dependencies of a task. */
function dependencyEnds(
  world: CopyView,
  id: string,
  own: 'taskId' | 'blockedById',
): { kind: unknown; row: Row; task: Row }[] {
  const other = own === 'taskId' ? 'blockedById' : 'taskId'
  return world.copy.list('dependency', `r ->> '${own}' = ?`, id).flatMap((row) => {
    const task = world.copy.find('task', asText(row[other]))
    return task ? [{ kind: row.kind, row, task }] : []
  })
}

/** Returns the ids of the tasks that block this one, open or not. */
export const allBlockers = (world: CopyView, { id }: Row): string[] =>
  dependencyEnds(world, id, 'taskId')
    .filter(({ row }) => isBlocker(row))
    .map(({ task }) => task.id)

/** Returns the keys of the open tasks that block this one. */
export const openBlockers = (world: CopyView, { id }: Row): string[] =>
  dependencyEnds(world, id, 'taskId')
    .filter(({ row, task }) => isBlocker(row) && !isClosed(asText(task.status ?? 'todo')))
    .map(({ task }) => taskKey(world, task))

export function taskDependencies(world: CopyView, { id }: Row): Pick<TaskDetail, 'waitsFor' | 'frees' | 'related'> {
  const [ahead, behind] = [dependencyEnds(world, id, 'taskId'), dependencyEnds(world, id, 'blockedById')]
  const waitsFor = ahead
    .filter(({ row }) => isBlocker(row))
    .map(
      ({ task, kind }): WaitsFor => ({
        ...relatedTask(world, task, kind),
        completionNotes: asTextOrNull(task.completionNotes),
      }),
    )
  const shown = (list: typeof ahead) => list.map(({ task, kind }) => relatedTask(world, task, kind))
  return {
    waitsFor,
    frees: shown(behind.filter(({ row }) => isBlocker(row))),
    related: shown([...ahead, ...behind].filter(({ row }) => !isBlocker(row))),
  }
}

/** Queues that these tasks, and no others, block a task. */
export function setBlockers(world: CopyView, { id }: Row, blockers: readonly Row[]): void {
  const there = dependencyEnds(world, id, 'taskId').filter(({ row }) => isBlocker(row))
  const wanted = new Set(blockers.map((blocker) => blocker.id))
  for (const { row, task } of there) if (!wanted.delete(task.id)) world.remove('dependency', row.id)
  for (const blockedById of wanted) world.create('dependency', { taskId: id, blockedById, kind: 'blocks' })
}
