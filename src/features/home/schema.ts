import { Type } from '@sinclair/typebox'
import { int, object, optional, type Static, time } from '../../schema.ts'
import { ActivityItem } from '../activity/schema.ts'
import { TaskItem } from '../tasks/schema.ts'

export const Home = object({
  mine: object({
    items: Type.Array(TaskItem, { description: 'Your open tasks, changed last first; at most 10' }),
    total: int({ example: 3 }),
  }),
  atWork: Type.Array(TaskItem, { description: 'Tasks that somebody holds now; at most 20' }),
  today: Type.Array(ActivityItem, { description: 'What agents did since then, newest first; at most 30' }),
})
export type Home = Static<typeof Home>

export const HomeQuery = object({ since: optional(time({ description: 'Default: 24 hours ago' })) })
export type HomeQuery = Static<typeof HomeQuery>
