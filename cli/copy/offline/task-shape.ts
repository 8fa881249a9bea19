import type { Acceptance, Comment, Task, TaskDetail, TaskItem } from '../../../src/features/tasks/schema.ts'
import type { Row } from '../mutation.ts'
import { keyOf } from './task-key.ts'
import { openBlockers, tiesOf } from './task-ties.ts'
import { common, list, text, textOrNull, type World } from './world.ts'

/** How tasks of the copy look in responses of the API. */

export const item = (world: World, row: Row): TaskItem => ({
  ...common(row),
  organizationId: text(row.organizationId),
  projectId: text(row.projectId),
  storyId: textOrNull(row.storyId),
  parentId: textOrNull(row.parentId),
  number: Number(row.number ?? 0),
  key: keyOf(world, row),
  title: text(row.title),
  status: (row.status ?? 'todo') as Task['status'],
  priority: (row.priority ?? 'medium') as Task['priority'],
  assignee: world.party(row.assigneeId),
  labels: list(row.labels),
  dueAt: textOrNull(row.dueAt),
  estimate: (row.estimate ?? null) as number | null,
  position: Number(row.position ?? 0),
  startedAt: textOrNull(row.startedAt),
  completedAt: textOrNull(row.completedAt),
  blockedBy: openBlockers(world, row),
  // The copy has no leases.
  lease: null,
})

export const shape = (world: World, row: Row): Task => ({
  ...item(world, row),
  description: textOrNull(row.description),
  acceptance: list<Acceptance>(row.acceptance),
  completionNotes: textOrNull(row.completionNotes),
})

export const commentShape = (world: World, row: Row): Comment => ({
  id: row.id,
  taskId: text(row.taskId),
  author: world.author(row),
  body: text(row.body),
  asks: row.asks === true,
  createdAt: text(row.createdAt),
  editedAt: textOrNull(row.editedAt),
  version: Number(row.version ?? 1),
})

const SHOWN_COMMENTS = 20

const neighbour = ({ id, key, title, status }: Task) => ({ id, key, title, status })

function placeOf(world: World, row: Row): Pick<TaskDetail, 'parent' | 'story' | 'epic'> {
  const parent = world.copy.find('task', text(row.parentId))
  const story = world.copy.find('story', text(row.storyId))
  const epic = world.copy.find('epic', text(story?.epicId))
  const named = (found: Row | undefined) => (found ? { id: found.id, title: text(found.title) } : null)
  return { parent: parent ? neighbour(shape(world, parent)) : null, story: named(story), epic: named(epic) }
}

export function detail(world: World, row: Row): Omit<TaskDetail, 'can'> {
  const project = world.copy.find('project', text(row.projectId))
  const parts = world.all('task', "r ->> 'parentId' = ?", row.id).map((task) => shape(world, task))
  const comments = world.copy
    .list('comment', "r ->> 'taskId' = ?", row.id)
    .toSorted((a, b) => (text(a.createdAt) < text(b.createdAt) ? -1 : 1))
  return {
    ...shape(world, row),
    project: { id: text(row.projectId), name: text(project?.name), slug: text(project?.slug) },
    ...tiesOf(world, row),
    subtasks: parts.map(neighbour),
    ...placeOf(world, row),
    // The copy has features, but not which tasks they name.
    features: [],
    lastCheckpoint: null,
    links: [],
    evidence: [],
    comments: comments.slice(-SHOWN_COMMENTS).map((comment) => commentShape(world, comment)),
  }
}
