import { read } from '../../action.ts'
import { member, scopeHolds } from '../../auth/policy.ts'
import * as activities from '../activity/service.ts'
import * as tasks from '../tasks/lists.ts'
import type { Home, HomeQuery } from './schema.ts'

const DAY = 86_400_000

/** Returns what the first page of the dashboard shows of the current team, in one call. */
export const home = read('home.get', member('tasks:read'), async (ctx, query: HomeQuery): Promise<Home> => {
  const since = query.since ?? new Date(Date.parse(ctx.now) - DAY).toISOString()
  const mine = await tasks.list(ctx, { assignee: 'me', open: true, sort: 'updatedAt', limit: 10, total: true })
  const held = await tasks.list(ctx, { leased: true, limit: 20 })
  const did = scopeHolds(ctx.actor.scopes, 'activities:read')
    ? (await activities.list(ctx, { since, actorType: 'agent', limit: 30 })).items
    : []
  return { mine: { items: mine.items, total: mine.total ?? mine.items.length }, atWork: held.items, today: did }
})
