import { Type } from '@sinclair/typebox'
import { priorities, statuses } from '../../records/task-states.ts'
import { UserOrAgent } from '../../records/user-or-agent.ts'
import { array, bool, id, int, nullable, object, oneOf, optional, type Static, text, title } from '../../schema.ts'
import { itemTitle } from '../stories/schema.ts'
import { Lease } from '../tasks/schema.ts'

const planItemFields = {
  title: itemTitle,
  description: optional(text(50_000)),
  priority: optional(oneOf(priorities, { description: 'Default: medium' })),
}

export const PlanTask = object({
  ref: optional(
    text(40, { minLength: 1, description: 'A name of your choice, for use in blockedBy', example: 'lock' }),
  ),
  ...planItemFields,
  labels: optional(array(title(50), 50, { uniqueItems: true })),
  estimate: optional(int({ max: 10_000 })),
  acceptance: optional(array(title(500), 50)),
  blockedBy: optional(
    array(text(200, { example: 'lock' }), 50, {
      uniqueItems: true,
      description: 'refs or titles of tasks in this plan, or keys of existing tasks',
    }),
  ),
})
export const PlanStory = object({
  ...planItemFields,
  points: optional(int({ max: 1000 })),
  tasks: optional(array(PlanTask, 200)),
})
export const PlanEpic = object({
  ...planItemFields,
  stories: optional(array(PlanStory, 100)),
  tasks: optional(
    array(PlanTask, 200, { description: 'Tasks without a story: they get one with the title of the epic' }),
  ),
})

export const PlanCreate = object({ epics: array(PlanEpic, 50) })
export type PlanCreate = Static<typeof PlanCreate>

const { tasks: _, ...withoutTasks } = PlanEpic.properties
/** A plan whose tasks all belong to stories, as pages show it before it is created. */
export const PlanDraft = object({ epics: array(object(withoutTasks), 50) })

const node = {
  id: id(),
  version: int({ example: 1 }),
  title: itemTitle,
  status: oneOf(statuses),
  priority: oneOf(priorities),
}
const TreeTask = object({
  ...node,
  key: text(20, { example: 'TUT-42' }),
  parentId: nullable(id()),
  estimate: nullable(int({ example: 3 })),
  assignee: nullable(UserOrAgent),
  lease: nullable(Lease),
  byAgent: optional(bool({ description: 'true if it is done, by an agent' })),
  blockedBy: Type.Array(text(20, { example: 'TUT-41' }), {
    description: 'Open tasks that block it; `hidden` for those of projects that you cannot see',
  }),
})
const TreeStory = object({ ...node, points: nullable(int()), tasks: Type.Array(TreeTask) })
const TreeEpic = object({ ...node, stories: Type.Array(TreeStory) })
export type TreeTask = Static<typeof TreeTask>
export type TreeStory = Static<typeof TreeStory>
export type TreeEpic = Static<typeof TreeEpic>

export const ProgressQuery = object({
  days: optional(int({ min: 1, max: 366, description: 'How many days, up to today. Default: 56', example: 56 })),
})
export type ProgressQuery = Static<typeof ProgressQuery>

const done = { description: 'Done by the end of the day', example: 12 }
export const Progress = object({
  from: text(10, { description: 'The first day, in UTC', example: '2026-11-01' }),
  days: Type.Array(
    object({
      day: text(10, { example: '2026-11-01' }),
      scope: int({ description: 'Tasks by the end of the day, without those cancelled since', example: 40 }),
      done: int(done),
      people: int({ ...done, description: 'Done by people' }),
      agents: int({ ...done, description: 'Done by agents' }),
    }),
  ),
})
export type Progress = Static<typeof Progress>

export const Tree = object({
  project: object({
    id: id(),
    name: text(100, { example: 'Tutti' }),
    slug: text(63, { example: 'tutti' }),
    key: text(6, { example: 'TUT' }),
  }),
  epics: Type.Array(TreeEpic),
  tasks: Type.Array(TreeTask, { description: 'Tasks without a story' }),
  left: int({
    description: 'Entries left out: a tree has at most 3,500. GET /api/tasks lists all',
    example: 0,
  }),
})
export type Tree = Static<typeof Tree>
