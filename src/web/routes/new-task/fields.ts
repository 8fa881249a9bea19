/** The fields of a new task, with their draft on this device. */
import { useCallback, useState } from 'react'
import type { TaskCreate } from '../../../features/tasks/schema.ts'
import type { UserOrAgent } from '../../../records/user-or-agent.ts'
import type { StoredFile } from '../../components/text/files.tsx'
import { readDraft, writeDraft } from '../../writing/device-drafts.ts'
import { useUserId } from '../../writing/text-draft.ts'

export interface NewTask {
  title: string
  description: string
  status: 'backlog' | 'todo'
  priority: NonNullable<TaskCreate['priority']>
  assignee: UserOrAgent | null
  labels: readonly string[]
  /** A day, such as 2027-01-31; empty: not set. */
  dueAt: string
  estimate: number | null
  story: { id: string; title: string } | null
  blockers: readonly { id: string; key: string }[]
  acceptance: readonly string[]
  files: readonly StoredFile[]
}

const texts = { title: '', description: '', acceptance: [], files: [] } as const
const empty: Omit<NewTask, 'status'> = {
  ...texts,
  priority: 'medium',
  assignee: null,
  labels: [],
  dueAt: '',
  estimate: null,
  story: null,
  blockers: [],
}

/** The server deletes uploads that no task names after a day. */
const MOST_AGE = 23 * 3_600_000
const isThere = ({ createdAt }: StoredFile): boolean => Date.now() - Date.parse(createdAt ?? '') < MOST_AGE

const hasText = ({ title, description, acceptance, files }: NewTask): boolean =>
  title.trim() !== '' || description.trim() !== '' || acceptance.length > 0 || files.length > 0

const DRAFT = 'new task'

/** What a task gets from where it was begun, such as a group of a list. */
export type NewTaskValues = Partial<Pick<NewTask, 'status' | 'priority' | 'assignee' | 'labels'>>

/** `values` count more than those of an earlier draft. */
export function useNewTask({ status = 'todo', ...values }: NewTaskValues) {
  const userId = useUserId()
  const [task, setTask] = useState<NewTask>(() => {
    const draft = readDraft<NewTask>(userId, DRAFT)
    return { ...empty, ...draft, ...values, status, files: draft?.files.filter(isThere) ?? [] }
  })
  const change = useCallback(
    (patch: Partial<NewTask> | ((before: NewTask) => Partial<NewTask>)) =>
      setTask((before) => {
        const next = { ...before, ...(typeof patch === 'function' ? patch(before) : patch) }
        writeDraft(userId, DRAFT, hasText(next) ? next : undefined)
        return next
      }),
    [userId],
  )
  /** For the next task: keeps the properties. */
  const clearTexts = () => change(texts)
  return { task, change, clearTexts, discardDraft: () => writeDraft(userId, DRAFT, undefined) }
}

export type ChangeNewTask = ReturnType<typeof useNewTask>['change']

export const toInput = (task: NewTask): TaskCreate => ({
  title: task.title.trim(),
  status: task.status,
  priority: task.priority,
  ...(task.description.trim() && { description: task.description }),
  ...(task.assignee && { assignee: task.assignee.id }),
  ...(task.labels.length > 0 && { labels: [...task.labels] }),
  ...(task.dueAt && { dueAt: task.dueAt }),
  ...(task.estimate !== null && { estimate: task.estimate }),
  ...(task.story && { storyId: task.story.id }),
  ...(task.blockers.length > 0 && { blockedBy: task.blockers.map(({ id }) => id) }),
  ...(task.acceptance.length > 0 && { acceptance: [...task.acceptance] }),
  ...(task.files.length > 0 && { files: task.files.map(({ id }) => id) }),
})
