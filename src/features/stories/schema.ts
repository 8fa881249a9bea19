import { Type } from '@sinclair/typebox'
import { priorities, statuses } from '../../records/task-states.ts'
import {
  id,
  int,
  nullable,
  object,
  oneOf,
  openFilter,
  optional,
  pageOf,
  paging,
  partial,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'

/** The title of an epic, story or task. */
export const itemTitle = title(200, { example: 'Lock the data folder' })

const changeable = {
  title: itemTitle,
  description: nullable(text(50_000)),
  status: oneOf(statuses),
  priority: oneOf(priorities),
}
const after = optional(nullable(id({ description: 'Place it after this one; null: first' })))
export const Progress = object({
  tasks: int({ example: 8 }),
  done: int({ example: 3 }),
  agents: optional(int({ description: 'Of those done: by agents', example: 2 })),
})
const listed = {
  ...recordFields,
  organizationId: id(),
  projectId: id(),
  createdById: nullable(id()),
  ...changeable,
  position: Type.Number({ examples: [1] }),
  progress: Progress,
}

export type Progress = Static<typeof Progress>
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

export const OutlineQuery = object({ ...paging('position', 'createdAt', 'updatedAt'), open: openFilter })
export type OutlineQuery = Static<typeof OutlineQuery>
