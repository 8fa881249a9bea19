import { beforeAll, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { contextOf } from '../../src/action.ts'
import type { Actor } from '../../src/auth/actor.ts'
import { roles } from '../../src/auth/policy.ts'
import { newId } from '../../src/db/columns.ts'
import { and } from '../../src/db/conditions.ts'
import { type AppEvent, insertEvent } from '../../src/events/event.ts'
import { events } from '../../src/events/table.ts'
import { visibleEvents } from '../../src/features/activity/service.ts'
import { isWorkEvent } from '../../src/records/feed.ts'
import { makeEvent } from '../db/events-support.ts'
import { type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { isShort } from '../support/thorough.ts'

let t: TestApp
let people: Person[]
let teams: string[]
let workspace: string
let projects: string[]
let rows: AppEvent[]
const mark = newId()

beforeAll(async () => {
  t = await sharedApp()
  people = [await person(t), await person(t)]
  teams = people.map(({ organizationId }) => organizationId)
  const [ada] = people as [Person]
  workspace = (await ada.fetch<{ id: string }>('POST', '/api/workspaces', { name: unique('Both') })).body.id
  projects = []
  for (const who of people)
    for (const [visibility, place, isDeleted] of [
      ['private', null, false],
      ['team', null, false],
      ['team', workspace, false],
      ['private', workspace, false],
      ['public', null, false],
      ['team', workspace, true],
    ] as const) {
      const { body } = await who.fetch<{ id: string }>('POST', '/api/projects', { name: unique('P') })
      projects.push(body.id)
      await t.app.driver.query(
        'update projects set visibility = $2, workspace_id = $3, deleted_at = case when $4 then now() end where id = $1',
        [body.id, visibility, place, isDeleted],
      )
    }
  rows = fc.sample(someEvent(), { numRuns: 400, seed: 14 })
  const tx = await t.app.driver.begin()
  await tx.commit(rows.map((event) => insertEvent(event)))
})

const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)

function someEvent(): fc.Arbitrary<AppEvent> {
  const known = t.app.events.all.map(({ name }) => name)
  const type = fc.oneof(
    fc.record({ type: oneOf(...known), action: oneOf('notes.update') }),
    fc.record({ type: oneOf('deploy', 'device'), action: oneOf('activity.log') }),
    oneOf({ type: 'notes.update', action: 'notes.update' }),
  )
  const place = fc.oneof(
    fc.record({ organizationId: oneOf(null, ...teams), projectId: oneOf(null) }),
    fc.record({ organizationId: oneOf(...teams), projectId: oneOf(...projects) }),
  )
  const userId = fc.oneof({ weight: 3, arbitrary: oneOf(null) }, { weight: 1, arbitrary: oneOf(...ids(people)) })
  const data = oneOf({}, { noun: 'note' }, { noun: 'task' })
  return fc
    .tuple(type, place, userId, data)
    .map(([what, where, user, about]) => ({
      ...makeEvent(t.app.instanceId, ''),
      ...what,
      ...where,
      userId: user,
      data: about,
    }))
    .map((event) => ({ ...event, id: newId(), requestId: mark }))
}

const ids = (list: Person[]): string[] => list.map(({ userId }) => userId)

function someActor(): fc.Arbitrary<Actor> {
  return fc.record({
    kind: oneOf<'session' | 'api_key'>('session', 'api_key'),
    userId: oneOf(...ids(people)),
    name: oneOf('Ada'),
    admin: fc.boolean(),
    credentialId: oneOf(newId()),
    scopes: oneOf(['write'], ['read'], ['notes:read'], ['tasks:write', 'activities:read'], ['projects:read']),
    memberships: fc
      .uniqueArray(fc.tuple(oneOf(...teams), oneOf(...roles)), { selector: ([team]) => team })
      .map((pairs) => new Map(pairs)),
    workspaces: oneOf(new Map(), new Map([[workspace, 'viewer' as const]])),
    reach: fc.subarray(teams),
    organizationId: oneOf(null),
  })
}

test('a user receives an event live if and only if it is in their feed', async () => {
  const { audience } = t.app.live
  await fc.assert(
    fc.asyncProperty(someActor(), async (actor) => {
      const ctx = contextOf(t.app, actor)
      const found = await t.app.db
        .select({ id: events.id })
        .from(events)
        .where(and(eq(events.requestId, mark), isWorkEvent(t.app.events), visibleEvents(ctx)))
      audience.projects.clear()
      await audience.projects.load(projects)
      const heard = rows.filter((row) => audience.accessTo(actor, row).shared)
      expect(heard.map(({ id }) => id).sort()).toEqual(found.map(({ id }) => id).sort())
    }),
    { numRuns: isShort ? 15 : 40, seed: 14 },
  )
})
