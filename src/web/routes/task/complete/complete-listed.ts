/** Completes the task with the focus in a list. Loaded with the first press of the key. */
import type { QueryClient } from '@tanstack/react-query'
import type { TaskComplete, TaskDetail } from '../../../../features/tasks/schema.ts'
import { toast } from '../../../components/toasts.tsx'
import { isAway } from '../../../live/state.ts'
import { words as common } from '../../../words.ts'
import { words as pickerWords } from '../../tasks/pickers/words.ts'
import { completeTask, refreshWithNow, taskQuery } from '../queries.ts'
import { isFinished } from './open-items.ts'

const refuse = (key: string, text: string): void => toast({ title: pickerWords.notCompleted(key), text, bad: true })

/** Completes the task at once, or returns it if something is still open: the reader is asked first. */
export async function beginCompletion(cache: QueryClient, key: string, meId: string): Promise<TaskDetail | undefined> {
  if (isAway()) return void refuse(key, common.needsConnection)
  try {
    const task = await cache.fetchQuery(taskQuery(key))
    const { complete } = task.can
    if (complete !== true) return void refuse(key, complete.detail)
    if (!isFinished(task, meId)) return task
    await completeListed(cache, task, {})
  } catch (error) {
    refuse(key, (error as Error).message)
  }
  return undefined
}

/** Completes the task as a mutation, so that ⌘Z waits for it. */
export async function completeListed(cache: QueryClient, task: TaskDetail, how: TaskComplete): Promise<void> {
  const mutation = cache.getMutationCache().build(cache, {
    mutationFn: () => completeTask(cache, task, how),
    onSettled: () => refreshWithNow(cache, task),
  })
  await mutation.execute(undefined).catch((error: Error) => refuse(task.key, error.message))
}
