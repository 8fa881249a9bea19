import type { Acceptance, Comment, Task, TaskDetail, TaskItem } from '../../../src/features/tasks/schema.ts'
import type { Row } from '../mutation.ts'
import { asList, asText, asTextOrNull, type CopyView, commonFields } from './copy-view.ts'
import { openBlockers, taskDependencies } from './task-dependencies.ts'
import { taskKey } from './task-key.ts'

/** How tasks of the copy look in responses of the API. */

export const taskItem = (world: CopyView, row: Row): TaskItem => ({
  ...commonFields(row),
  organizationId: asText(row.organizationId),
  projectId: asText(row.projectId),
  storyId: asTextOrNull(row.storyId),
  parentId: asTextOrNull(row.parentId),
  number: Number(row.number ?? 0),
  key: taskKey(world, row),
  title: asText(row.title),
  status: (row.status ?? 'todo') as Task['status'],
  priority: (row.priority ?? 'medium') as Task['priority'],
  assignee: world.party(row.assigneeId),
  labels: asList(row.labels),
  dueAt: asTextOrNull(row.dueAt),
  estimate: (row.estimate ?? null) as number | null,
  position: Number(row.position ?? 0),
  startedAt: asTextOrNull(row.startedAt),
  completedAt: asTextOrNull(row.completedAt),
  blockedBy: openBlockers(world, row),
  // The copy has no leases.
  lease: null,
})

export const toTask = (world: CopyView, row: Row): Task => ({
  ...taskItem(world, row),
  description: asTextOrNull(row.description),
  acceptance: asList<Acceptance>(row.acceptance),
  completionNotes: asTextOrNull(row.completionNotes),
})

export const toComment = (world: CopyView, row: Row): Comment => ({
  id: row.id,
  taskId: asText(row.taskId),
  author: world.author(row),
  body: asText(row.body),
  asks: row.asks === true,
  createdAt: asText(row.createdAt),
  editedAt: asTextOrNull(row.editedAt),
  version: Number(row.version ?? 1),
})

const SHOWN_COMMENTS = 20

const taskNeighbour = ({ id, key, title, status }: Task) => ({ id, key, title, status })

function taskParents(world: CopyView, row: Row): Pick<TaskDetail, 'parent' | 'story' | 'epic'> {
  const parent = world.copy.find('task', asText(row.parentId))
  const story = world.copy.find('story', asText(row.storyId))
  const epic = world.copy.find('epic', asText(story?.epicId))
  const named = (found: Row | undefined) => (found ? { id: found.id, title: asText(found.title) } : null)
  return { parent: parent ? taskNeighbour(toTask(world, parent)) : null, story: named(story), epic: named(epic) }
}

export function taskDetail(world: CopyView, row: Row): Omit<TaskDetail, 'can'> {
  const project = world.copy.find('project', asText(row.projectId))
  const parts = world.all('task', "r ->> 'parentId' = ?", row.id).map((task) => toTask(world, task))
  const comments = world.copy
    .list('comment', "r ->> 'taskId' = ?", row.id)
    .toSorted((a, b) => (asText(a.createdAt) < asText(b.createdAt) ? -1 : 1))
  return {
    ...toTask(world, row),
    project: { id: asText(row.projectId), name: asText(project?.name), slug: asText(project?.slug) },
    ...taskDependencies(world, row),
    subtasks: parts.map(taskNeighbour),
    ...taskParents(world, row),
    // The copy has features, but not which tasks they name.
    features: [],
    lastCheckpoint: null,
    links: [],
    evidence: [],
    comments: comments.slice(-SHOWN_COMMENTS).map((comment) => toComment(world, comment)),
  }
}
