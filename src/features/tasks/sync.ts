import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { invalid } from '../../errors.ts'
import {
  type Fields,
  renameField,
  type StoredRecord,
  type SyncEntity,
  type SyncRules,
  splitContainer,
  splitFields,
  validateFields,
} from '../../records/sync.ts'
import { id, object, text } from '../../schema.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { complete } from './acceptance/completion.ts'
import { notesBetween } from './acceptance/completion-notes.ts'
import { addComment, removeComment } from './comments.ts'
import { remove, restore } from './deletion.ts'
import { CommentCreate, TaskCreate, TaskPatch } from './schema.ts'
import { create, update } from './service.ts'
import { taskComments, tasks } from './table.ts'

/** A new task is planned work; any other state from the device is applied as a second change. */
const startsAs = new Set<unknown>(['backlog', 'todo'])

export const taskSync: SyncRules<Ctx> = {
  columns: {
    id: tasks.id,
    createdAt: tasks.createdAt,
    updatedAt: tasks.updatedAt,
    version: tasks.version,
    organizationId: tasks.organizationId,
    createdById: tasks.createdById,
    projectId: tasks.projectId,
    storyId: tasks.storyId,
    parentId: tasks.parentId,
    number: tasks.number,
    title: tasks.title,
    description: tasks.description,
    status: tasks.status,
    priority: tasks.priority,
    assigneeType: tasks.assigneeType,
    assigneeId: tasks.assigneeId,
    labels: tasks.labels,
    estimate: tasks.estimate,
    acceptance: tasks.acceptance,
    dueAt: tasks.dueAt,
    completionNotes: tasks.completionNotes,
    position: tasks.position,
    startedAt: tasks.startedAt,
    completedAt: tasks.completedAt,
    completedByType: tasks.completedByType,
  },
  fields: {
    title: 'value',
    description: 'text',
    status: 'value',
    priority: 'value',
    assigneeId: 'value',
    labels: 'set',
    estimate: 'value',
    acceptance: 'value',
    dueAt: 'value',
    storyId: 'value',
    parentId: 'value',
    completionNotes: 'text',
  },
  onCreate: ['projectId'],
  create: async (ctx, id, { projectId, ...fields }) => {
    const isLater = (name: string, value: unknown) =>
      name === 'completionNotes' || (name === 'status' && !startsAs.has(value))
    const { now, later } = splitFields(fields, isLater)
    const input = validateFields(TaskCreate, renameField(now, 'assigneeId', 'assignee'))
    const { id: projectRef } = validateFields(ofProject, { id: projectId })
    await create(ctx, { ...input, id, projectRef })
    if (Object.keys(later).length > 0) await change(ctx, { id, version: 1 }, later)
  },
  update: change,
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}

/** Changes a task. Completion notes are added as by a completion, so that no earlier notes are lost. */
async function change(ctx: Ctx, before: StoredRecord, { completionNotes, ...fields }: Fields): Promise<unknown> {
  const patch = (rest: Fields) => ({
    ...validateFields(TaskPatch, renameField(rest, 'assigneeId', 'assignee')),
    ref: before.id,
  })
  if (completionNotes === undefined) return update(ctx, patch(fields))
  const { status = before.status, ...rest } = fields
  if (status !== 'done') throw invalid('/fields/completionNotes', 'Only a completed task can have completion notes.')
  const { completionNotes: after } = validateFields(Notes, { completionNotes })
  const said = notesBetween(before.completionNotes as string | null, after)
  const done = await complete(ctx, { ref: before.id, ...said })
  return Object.keys(rest).length > 0 ? update({ ...ctx, expectedVersion: done.version }, patch(rest)) : done
}

const Notes = object({ completionNotes: text(32_000) })

const ofProject = object({ id: id({ description: 'projectId' }) })
const ofTask = object({ id: id({ description: 'taskId' }) })

/** Devices add and delete comments; edits come from the server. A comment belongs to the container of its task. */
export const commentSync: SyncEntity<Ctx> = {
  entity: 'comment',
  table: taskComments,
  scope: 'tasks:read',
  version: taskComments.version,
  columns: {
    id: taskComments.id,
    taskId: taskComments.taskId,
    authorType: taskComments.authorType,
    authorId: taskComments.authorId,
    authorName: taskComments.authorName,
    body: taskComments.body,
    asks: taskComments.asks,
    createdAt: taskComments.createdAt,
    editedAt: taskComments.editedAt,
    version: taskComments.version,
  },
  fields: {},
  onCreate: ['taskId', 'body', 'asks'],
  create: (ctx, id, { taskId, ...fields }) =>
    addComment(ctx, { ...validateFields(CommentCreate, fields), ref: validateFields(ofTask, { id: taskId }).id, id }),
  remove: (ctx, { id, ...before }) =>
    removeComment(ctx, { ref: validateFields(ofTask, { id: before.taskId }).id, commentId: id }),
  place: {
    visible: (rights) =>
      sql`exists (select 1 from ${tasks} where ${tasks.id} = ${taskComments.taskId}
        and ${liveOfTeamOrProject(tasks)(rights)})`,
    container: sql`(select 'project:' || ${tasks.projectId} from ${tasks} where ${tasks.id} = ${taskComments.taskId})`,
    inContainer: (container) => {
      const { type, id } = splitContainer(container)
      if (type !== 'project') return sql`false`
      return sql`${taskComments.taskId} in (select ${tasks.id} from ${tasks}
        where ${tasks.projectId} = ${id}::uuid and ${tasks.deletedAt} is null)`
    },
  },
}
