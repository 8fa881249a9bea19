/** Edits of tasks that wait for the connection: changed fields and new comments. */
import type { Comment, TaskDetail, TaskItem, TaskPatch } from '../../features/tasks/schema.ts'
import { changeLabels, gatedStatuses } from '../../records/task-states.ts'
import type { UserOrAgent } from '../../records/user-or-agent.ts'
import { meQuery } from '../account/session.ts'
import { ok, okUndoable, tasks } from '../api.ts'
import { recordWrittenVersion } from '../live/written-versions.ts'
import { queryClient } from '../query-client.ts'
import { words as common, count, statusNames } from '../words.ts'
import { type Edit, requireRoom, waitForConnection } from './queue.ts'
import { changeInCache } from './shown-tasks.ts'
import type { Attempt } from './waiting-edits.tsx'
import { words } from './words.ts'

/** Fields that can be shown before the server has them. Other changes need a connection. */
const canWait = new Set([
  'title',
  'description',
  'priority',
  'assignee',
  'labels',
  'addLabels',
  'removeLabels',
  'dueAt',
  'estimate',
  'acceptance',
  'status',
  'after',
])

interface TaskEdits {
  /** The tasks as they were before the change. */
  tasks: readonly (TaskItem | TaskDetail)[]
  patch: TaskPatch
  /** Describes the change without its tasks: "priority High". */
  said?: string | undefined
}

/** Lets the same change of several tasks wait. Throws if it needs a connection, or if too many edits wait. */
export function editTasks({ tasks: items, patch, said }: TaskEdits, attempt: Attempt): void {
  if (Object.keys(patch).some((field) => !canWait.has(field))) throw new Error(common.needsConnection)
  const { status } = patch
  if (status && gatedStatuses.has(status) && items.some((task) => task.status !== status))
    throw new Error(common.needsConnection)
  requireRoom(items.length)
  const change = said ?? describeFields(patch)
  const [first] = items
  const subject = items.length === 1 && first ? first.key : count(items.length, 'task')
  waitForConnection(
    words.changed(subject, change),
    items.map((task) => taskEdit(task, patch, words.changed(task.key, change))),
    attempt,
  )
}

function describeFields({ title, status, ...patch }: TaskPatch): string {
  if (title !== undefined) return words.fields.title(title)
  if (status) return words.fields.status(statusNames[status])
  if ('acceptance' in patch) return words.fields.acceptance
  return 'description' in patch ? words.fields.description : words.fields.order
}

type Fields = Partial<Pick<TaskDetail, 'title' | 'description' | 'priority' | 'assignee' | 'labels'>> &
  Partial<Pick<TaskDetail, 'dueAt' | 'estimate' | 'acceptance' | 'status'>>

function taskEdit(task: TaskItem | TaskDetail, patch: TaskPatch, title: string): Edit {
  const { id } = task
  const { addLabels, removeLabels, assignee, after: _, ...set } = patch
  const shown = { ...set, ...(assignee !== undefined && { assignee: findParty(assignee) }) } as Fields
  const hasLabelSteps = addLabels !== undefined || removeLabels !== undefined
  const fields = [...Object.keys(shown), ...(hasLabelSteps ? ['labels'] : [])] as (keyof Fields)[]
  const valuesOf = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, task[name as keyof TaskItem]]))
  return {
    title,
    recordId: id,
    fields,
    show: () =>
      changeInCache(id, (now) => ({
        ...now,
        ...shown,
        ...(hasLabelSteps && { labels: changeLabels(now.labels, patch) }),
      })),
    hide: () => changeInCache(id, (now) => ({ ...now, ...valuesOf(fields) })),
    // Labels that are added or removed merge with those of others.
    before: valuesOf(Object.keys(shown)),
    after: shown,
    version: task.version,
    send: async (headers, version) => {
      const options = { headers: { ...headers, 'if-match': `"${version}"` } }
      const { data, changeId } = await okUndoable(tasks.tasks({ id }).patch(patch, options))
      recordWrittenVersion(id, data.version)
      changeInCache(id, (now) => ({ ...now, version: data.version }))
      return { changeId }
    },
    read: (headers) => ok(tasks.tasks({ id }).get({ headers })),
  }
}

/** The assignee as records show it. The picker has loaded the people and agents that it offers. */
function findParty(assignee: string | null): UserOrAgent | null {
  if (assignee === null) return null
  const me = queryClient.getQueryData(meQuery.queryKey)
  if (me && (assignee === 'me' || assignee === me.id)) return { type: 'user', id: me.id, name: me.name }
  for (const [type, queryKey] of [
    ['user', ['members']],
    ['agent', ['agents']],
  ] as const)
    for (const [, parties] of queryClient.getQueriesData<{ id: string; name: string }[]>({ queryKey })) {
      const party = Array.isArray(parties) && parties.find(({ id }) => id === assignee)
      if (party) return { type, id: party.id, name: party.name }
    }
  return { type: 'user', id: assignee, name: assignee }
}

/** Lets a new comment wait. */
export function addComment(task: Pick<TaskDetail, 'id' | 'key'>, body: string, attempt: Attempt): void {
  requireRoom(1)
  const author = findParty('me')
  if (!author) return
  const comment: Comment = {
    id: attempt.key,
    taskId: task.id,
    author,
    body,
    asks: false,
    createdAt: new Date().toISOString(),
    editedAt: null,
    version: 1,
  }
  const withComments = (change: (comments: Comment[]) => Comment[]) =>
    changeInCache(task.id, (now) => ('comments' in now ? { ...now, comments: change(now.comments) } : now))
  const without = (comments: Comment[]) => comments.filter(({ id }) => id !== comment.id)
  const title = words.changed(task.key, words.comment)
  const edit: Edit = {
    title,
    recordId: comment.id,
    fields: [],
    before: {},
    after: {},
    read: () => ok(tasks.tasks({ id: task.id }).get()),
    show: () => withComments((comments) => [...without(comments), comment]),
    hide: () => withComments(without),
    send: async (headers) => {
      await ok(tasks.tasks({ id: task.id }).comments.post({ body }, { headers }))
      return {}
    },
  }
  waitForConnection(title, [edit], attempt)
}
