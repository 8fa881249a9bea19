import { type Ctx, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { findStoryByPath, type StoryPath } from '../stories/rows.ts'
import { remove } from '../tasks/deletion.ts'
import type { TaskPage, TaskQuery } from '../tasks/lists/list-schema.ts'
import type { Task, TaskChanged, TaskCreate, TaskDetail, TaskPatch } from '../tasks/schema.ts'
import * as tasks from '../tasks/service.ts'

/**
 * Task actions for nested paths. Each checks that the ids of the path belong together, then calls the task's action.
 */

interface TaskPath extends StoryPath {
  taskId: string
}

async function findTaskIn(ctx: Ctx, { taskId, ...path }: TaskPath): Promise<Task> {
  const story = await findStoryByPath(ctx, path)
  const task = await tasks.get(ctx, { ref: taskId })
  if (task.storyId !== story.id) throw notFound('task', taskId)
  return task
}

const splitPath = <T extends StoryPath>({ slug, epicId, storyId, ...rest }: T) => ({
  path: { slug, epicId, storyId },
  rest,
})

export const listTasks = read(
  'planning.listTasks',
  member('tasks:read'),
  async (ctx, input: TaskQuery & StoryPath): Promise<TaskPage> => {
    const { path, rest } = splitPath(input)
    const story = await findStoryByPath(ctx, path)
    return tasks.list(ctx, { sort: 'position', order: 'asc', ...rest, projectId: story.projectId, storyId: story.id })
  },
)

export const createTask = write(
  'planning.createTask',
  member('tasks:write'),
  async (ctx, input: TaskCreate & StoryPath): Promise<Task> => {
    const { path, rest } = splitPath(input)
    const story = await findStoryByPath(ctx, path)
    return tasks.create(ctx, { ...rest, projectRef: story.projectId, storyId: story.id })
  },
)

export const getTask = read(
  'planning.getTask',
  member('tasks:read'),
  async (ctx, path: TaskPath): Promise<TaskDetail> => {
    const { id } = await findTaskIn(ctx, path)
    return tasks.getDetail(ctx, { ref: id })
  },
)

export const updateTask = write(
  'planning.updateTask',
  member('tasks:write'),
  async (
    ctx,
    {
      taskId,
      ...input
    }: TaskPatch & { slug: string; epicId: string; storyId: string; taskId: string; move?: string | null },
  ) => {
    const { path, rest } = splitPath(input)
    const { id } = await findTaskIn(ctx, { ...path, taskId })
    const { move, ...patch } = rest
    return tasks.update(ctx, {
      ...patch,
      ...(move !== undefined && { storyId: move }),
      ref: id,
    }) as Promise<TaskChanged>
  },
  { versioned: true },
)

export const removeTask = write(
  'planning.removeTask',
  member('tasks:write'),
  async (ctx, path: TaskPath): Promise<{ id: string; deleted: true }> => {
    const { id } = await findTaskIn(ctx, path)
    return remove(ctx, { ref: id })
  },
  { destructive: true, versioned: true },
)
