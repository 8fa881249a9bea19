/** An edit conflict of a task: which fields two people changed at the same time. */
import type { TaskDetail, TaskPatch } from '../../../features/tasks/schema.ts'
import { words } from './words.ts'

/** A change that was not saved, because someone else changed the same fields first. */
export class EditConflict extends Error {
  constructor(
    readonly patch: TaskPatch,
    readonly fields: readonly string[],
    readonly theirs: TaskDetail,
  ) {
    super(words.metOther)
  }
}

/** The value in a task that a field of a change is about. */
export const inTask = (task: TaskDetail, field: string): unknown =>
  field === 'blockedBy' ? task.waitsFor.map(({ id }) => id).sort() : task[field as keyof TaskDetail]

/** Returns the fields of the change that differ between both states of the task. Evidence is only added. */
export const conflictingFields = (patch: TaskPatch, before: TaskDetail, now: TaskDetail): string[] =>
  Object.keys(patch)
    .filter((field) => field !== 'evidence')
    .filter((field) => JSON.stringify(inTask(before, field)) !== JSON.stringify(inTask(now, field)))
