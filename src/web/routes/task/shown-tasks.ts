/** The tasks of the list on the page, in its order: a task that is opened from it can step to the next one. */
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { createStore } from '../../lib/store.ts'

type ShownTask = Pick<TaskItem, 'id' | 'key'>
const shownTasks = createStore<readonly ShownTask[]>([])

/** Sets the tasks until the function that it returns is called. */
export function showTasks(tasks: readonly ShownTask[]): () => void {
  shownTasks.set(tasks)
  return () => {
    if (shownTasks.get() === tasks) shownTasks.set([])
  }
}

export const useShownTasks = shownTasks.use
export const shownTaskKeys = (): string[] => shownTasks.get().map(({ key }) => key)
