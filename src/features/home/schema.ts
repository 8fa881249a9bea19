import { Type } from '@sinclair/typebox'
import { recordNames } from '../../records/names.ts'
import { id, int, nullable, object, oneOf, optional, type Static, text, time } from '../../schema.ts'
import { ActivityItem } from '../activity/schema.ts'
import { NotificationCount } from '../notifications/schema.ts'
import { OrganizationPage } from '../organizations/schema.ts'
import { ProjectPage } from '../projects/schema.ts'
import { TaskItem } from '../tasks/schema.ts'
import { User } from '../users/schema.ts'

export const Home = object({
  mine: object({
    items: Type.Array(TaskItem, { description: 'Your open tasks, last changed first; at most 10' }),
    total: int({ example: 3 }),
  }),
  atWork: Type.Array(TaskItem, { description: 'Tasks that someone holds now; at most 20' }),
  today: Type.Array(ActivityItem, { description: 'Activity of agents since then, newest first; at most 30' }),
})
export type Home = Static<typeof Home>

export const HomeQuery = object({ since: optional(time({ description: 'Default: 24 hours ago' })) })
export type HomeQuery = Static<typeof HomeQuery>

export const Favourite = object({
  id: id(),
  kind: oneOf([...recordNames, 'view'] as const),
  title: text(500, { example: 'How we deploy' }),
  key: nullable(text(100, { description: 'The key of a task or project', example: 'TUT-42' })),
  status: nullable(text(50, { example: 'todo' })),
  path: text(3000, {
    description: 'Its address in the dashboard',
    example: '/notes/0198c5f4-1c9e-7a3b-9d1f-2b6c8e4a7f10',
  }),
  organizationId: nullable(id()),
})
export type Favourite = Static<typeof Favourite>
export const Favourites = object({
  items: Type.Array(Favourite, { description: 'In the order of `favourites` in your preferences' }),
})
export type Favourites = Static<typeof Favourites>

export const Frame = object({
  me: User,
  team: OrganizationPage.properties.items.items,
  teams: Type.Array(OrganizationPage.properties.items.items, { description: 'Your teams by name; at most 200' }),
  projects: Type.Array(ProjectPage.properties.items.items, {
    description: 'The active projects of the team by name; at most 200',
  }),
  notifications: NotificationCount,
  favourites: Favourites.properties.items,
  myTasks: int({ description: 'Your open tasks in the team', example: 3 }),
})
export type Frame = Static<typeof Frame>

export const FrameQuery = object({
  team: optional(
    text(63, { description: 'The slug of a team of yours. Default: the current one', example: 'engines' }),
  ),
})
export type FrameQuery = Static<typeof FrameQuery>
