import type { Related, TaskDetail, WaitsFor } from '../../../src/features/tasks/schema.ts'
import { isClosed } from '../../../src/records/work.ts'
import type { Row } from '../mutation.ts'
import { keyOf } from './task-key.ts'
import { text, textOrNull, type World } from './world.ts'

const named = (world: World, task: Row, kind: unknown): Related => ({
  id: task.id,
  key: keyOf(world, task),
  title: text(task.title),
  status: (task.status ?? 'todo') as Related['status'],
  kind: (kind ?? 'blocks') as Related['kind'],
})

const isBlocker = ({ kind }: Row): boolean => (kind ?? 'blocks') === 'blocks'

/** Returns the tasks at the other ends of the dependencies of a task. */
function ties(world: World, id: string, own: 'taskId' | 'blockedById'): { kind: unknown; row: Row; task: Row }[] {
  const other = own === 'taskId' ? 'blockedById' : 'taskId'
  return world.copy.list('dependency', `r ->> '${own}' = ?`, id).flatMap((row) => {
    const task = world.copy.find('task', text(row[other]))
    return task ? [{ kind: row.kind, row, task }] : []
  })
}

/** Returns the keys of the open tasks that block this one. */
export const openBlockers = (world: World, { id }: Row): string[] =>
  ties(world, id, 'taskId')
    .filter(({ row, task }) => isBlocker(row) && !isClosed(text(task.status ?? 'todo')))
    .map(({ task }) => keyOf(world, task))

export function tiesOf(world: World, { id }: Row): Pick<TaskDetail, 'waitsFor' | 'frees' | 'related'> {
  const [ahead, behind] = [ties(world, id, 'taskId'), ties(world, id, 'blockedById')]
  const waitsFor = ahead
    .filter(({ row }) => isBlocker(row))
    .map(
      ({ task, kind }): WaitsFor => ({
        ...named(world, task, kind),
        completionNotes: textOrNull(task.completionNotes),
      }),
    )
  const shown = (list: typeof ahead) => list.map(({ task, kind }) => named(world, task, kind))
  return {
    waitsFor,
    frees: shown(behind.filter(({ row }) => isBlocker(row))),
    related: shown([...ahead, ...behind].filter(({ row }) => !isBlocker(row))),
  }
}

/** Queues that these tasks, and no others, block a task. */
export function setBlockers(world: World, { id }: Row, blockers: readonly Row[]): void {
  const there = ties(world, id, 'taskId').filter(({ row }) => isBlocker(row))
  const wanted = new Set(blockers.map((blocker) => blocker.id))
  for (const { row, task } of there) if (!wanted.delete(task.id)) world.remove('dependency', row.id)
  for (const blockedById of wanted) world.create('dependency', { taskId: id, blockedById, kind: 'blocks' })
}
