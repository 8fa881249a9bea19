import { read } from '../../action.ts'
import { switchOrganization } from '../../auth/actor.ts'
import { account, member, scopeHolds } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { currentCursor } from '../../live/poll.ts'
import * as accounts from '../accounts/service.ts'
import * as activities from '../activity/service.ts'
import * as notifications from '../notifications/service.ts'
import * as organizations from '../organizations/service.ts'
import { listInTeam } from '../projects/service.ts'
import * as tasks from '../tasks/lists/lists.ts'
import { listFavourites } from './favourites.ts'
import type { Frame, FrameQuery, Home, HomeQuery } from './schema.ts'

const DAY = 86_400_000

/** Returns the content of the dashboard's first page in one call. */
export const getHome = read('home.get', member('tasks:read'), async (ctx, query: HomeQuery): Promise<Home> => {
  const since = query.since ?? new Date(Date.parse(ctx.now) - DAY).toISOString()
  const mine = await tasks.list(ctx, { assignee: 'me', open: true, sort: 'updatedAt', limit: 10, total: true })
  const held = await tasks.list(ctx, { leased: true, limit: 20 })
  const did = scopeHolds(ctx.actor.scopes, 'activities:read')
    ? (await activities.list(ctx, { since, actorType: 'agent', limit: 30 })).items
    : []
  return { mine: { items: mine.items, total: mine.total ?? mine.items.length }, atWork: held.items, today: did }
})

/** The cursor leads to the events since the call. */
export type FrameWithCursor = Frame & { cursor: string }

/** Returns what all pages of the dashboard need, so that loading a page takes one call instead of five. */
export const getFrame = read(
  'home.frame',
  account('account:read'),
  async (ctx, query: FrameQuery): Promise<FrameWithCursor> => {
    const byName = { limit: 200, sort: 'name', order: 'asc' } as const
    // Before the data: the page receives every event that the data lacks.
    const cursor = await currentCursor({ driver: ctx.app.driver, db: ctx.db })
    const me = await accounts.me(ctx, {})
    const { items: teams } = await organizations.list(ctx, byName)
    const team =
      query.team === undefined ? await organizations.current(ctx, {}) : teams.find(({ slug }) => slug === query.team)
    if (!team) throw notFound('organization', query.team ?? '')
    const { items: projects } = await listInTeam(ctx, { ...byName, team: team.id })
    const { items: favourites } = await listFavourites(ctx, {})
    const here = { ...ctx, actor: switchOrganization(ctx.actor, team.id) }
    const myTasks = scopeHolds(ctx.actor.scopes, 'tasks:read')
      ? await tasks.list(here, { assignee: 'me', open: true, limit: 1, total: true })
      : undefined
    return {
      ...{ me, team, teams, projects, favourites, cursor },
      notifications: await notifications.count(ctx, {}),
      myTasks: myTasks?.total ?? 0,
    }
  },
)
