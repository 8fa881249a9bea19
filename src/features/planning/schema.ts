import { Type } from '@sinclair/typebox'
import {
  array,
  id,
  int,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  partial,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'
import { priorities, statuses } from '../tasks/schema.ts'

const itemTitle = title(200, { example: 'Lock the data folder' })
const described = {
  title: itemTitle,
  description: optional(text(50_000)),
  priority: optional(oneOf(priorities, { description: 'Default medium' })),
}

const PlanTask = object({
  ref: optional(text(40, { minLength: 1, description: 'Your own name for it, for blockedBy', example: 'lock' })),
  ...described,
  labels: optional(array(title(50), 50, { uniqueItems: true })),
  estimate: optional(int({ max: 10_000 })),
  acceptance: optional(array(title(500), 50)),
  blockedBy: optional(
    array(text(40, { example: 'lock' }), 50, { uniqueItems: true, description: 'refs of tasks in this plan' }),
  ),
})
const PlanStory = object({ ...described, points: optional(int({ max: 1000 })), tasks: optional(array(PlanTask, 200)) })
const PlanEpic = object({ ...described, stories: optional(array(PlanStory, 100)) })

export const PlanCreate = object({ epics: array(PlanEpic, 50) })
export type PlanCreate = Static<typeof PlanCreate>

const node = { id: id(), title: itemTitle, status: oneOf(statuses), priority: oneOf(priorities) }
const TreeTask = object({
  ...node,
  key: text(20, { example: 'TUT-42' }),
  parentId: nullable(id()),
  blockedBy: Type.Array(text(20, { example: 'TUT-41' }), { description: 'Open tasks that it waits for' }),
})
const TreeStory = object({ ...node, points: nullable(int()), tasks: Type.Array(TreeTask) })
const TreeEpic = object({ ...node, stories: Type.Array(TreeStory) })
export type TreeTask = Static<typeof TreeTask>
export type TreeStory = Static<typeof TreeStory>
export type TreeEpic = Static<typeof TreeEpic>

export const Tree = object({
  project: object({
    id: id(),
    name: text(100, { example: 'Tutti' }),
    slug: text(63, { example: 'tutti' }),
    key: text(6, { example: 'TUT' }),
  }),
  epics: Type.Array(TreeEpic),
  tasks: Type.Array(TreeTask, { description: 'Straight under the project' }),
  left: int({
    description: 'How many more there are: a tree has 5,000 entries at most. GET /api/tasks lists them all',
    example: 0,
  }),
})
export type Tree = Static<typeof Tree>

// ---- epics and stories

const changeable = {
  title: itemTitle,
  description: nullable(text(50_000)),
  status: oneOf(statuses),
  priority: oneOf(priorities),
}
const after = optional(nullable(id({ description: 'Put it behind this one; null: first' })))
const Progress = object({ tasks: int({ example: 8 }), done: int({ example: 3 }) })
const listed = {
  ...recordFields,
  organizationId: id(),
  projectId: id(),
  createdById: nullable(id()),
  ...changeable,
  position: Type.Number({ examples: [1] }),
  progress: Progress,
}

export const Epic = object(listed)
export type Epic = Static<typeof Epic>
export const EpicCreate = object({ ...partial(object(changeable)).properties, title: itemTitle })
export type EpicCreate = Static<typeof EpicCreate>
export const EpicPatch = object({ ...partial(object(changeable)).properties, after })
export type EpicPatch = Static<typeof EpicPatch>
export const EpicPage = pageOf(Epic)
export type EpicPage = Static<typeof EpicPage>

const points = nullable(int({ max: 1000 }))
export const Story = object({ ...listed, epicId: id(), points })
export type Story = Static<typeof Story>
export const StoryCreate = object({ ...EpicCreate.properties, points: optional(points) })
export type StoryCreate = Static<typeof StoryCreate>
export const StoryPatch = object({ ...EpicPatch.properties, points: optional(points), epicId: optional(id()) })
export type StoryPatch = Static<typeof StoryPatch>
export const StoryPage = pageOf(Story)
export type StoryPage = Static<typeof StoryPage>

export const OutlineQuery = object(paging('position', 'createdAt', 'updatedAt'))
export type OutlineQuery = Static<typeof OutlineQuery>
