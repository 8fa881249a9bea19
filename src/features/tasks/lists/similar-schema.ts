import { Type } from '@sinclair/typebox'
import { statuses } from '../../../records/task-states.ts'
import { id, object, oneOf, type Static, text, title } from '../../../schema.ts'
import { projectFilter } from '../../projects/schema.ts'

export const SimilarQuery = object({
  title: title(200, {
    description: 'The title of a task that is about to be created',
    example: 'Lock the data folder',
  }),
  project: projectFilter,
})
export type SimilarQuery = Static<typeof SimilarQuery>

const SimilarTask = object({
  id: id(),
  key: text(20, { example: 'TUT-42' }),
  title: text(200, { example: 'Lock the data directory' }),
  status: oneOf(statuses),
  score: Type.Number({ minimum: 0, maximum: 1, description: '1: the same title', examples: [0.71] }),
})
export type SimilarTask = Static<typeof SimilarTask>

export const SimilarTasks = object({ items: Type.Array(SimilarTask, { description: 'At most three, best first' }) })
export type SimilarTasks = Static<typeof SimilarTasks>
