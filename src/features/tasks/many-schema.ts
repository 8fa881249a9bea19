import { Type } from '@sinclair/typebox'
import { object, optional, type Static } from '../../schema.ts'
import { ref, Task, TaskChanged, TaskComplete, TaskCompleted, TaskCreate } from './schema.ts'

/** Several tasks in one call, all or none. */

const MOST = 50

export const CreateMany = object({
  parent: optional(ref('The task that they are parts of')),
  tasks: Type.Array(TaskCreate, {
    minItems: 1,
    maxItems: MOST,
    description: '`blockedBy` may also name titles of this list',
  }),
})
export type CreateMany = Static<typeof CreateMany>
export const CreatedMany = object({ items: Type.Array(Task) })
export type CreatedMany = Static<typeof CreatedMany>

const { notes, evidence, accepted, claimNext } = TaskComplete.properties
export const CompleteMany = object({
  tasks: Type.Array(Type.Union([ref('A task'), object({ task: ref('A task'), notes, evidence, accepted })]), {
    minItems: 1,
    maxItems: MOST,
    description: 'In this order; each with notes of its own or without',
  }),
  notes,
  evidence,
  accepted,
  claimNext,
})
export type CompleteMany = Static<typeof CompleteMany>
const { already, next, claimed, noNext } = TaskCompleted.properties
export const CompletedMany = object({
  items: Type.Array(object({ ...TaskChanged.properties, already })),
  next,
  claimed,
  noNext,
})
export type CompletedMany = Static<typeof CompletedMany>
