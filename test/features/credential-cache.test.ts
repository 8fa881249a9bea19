import { beforeAll, describe, expect, spyOn, test } from 'bun:test'
import type { Actor } from '../../src/auth/actor.ts'
import { Authenticator } from '../../src/auth/authenticate.ts'
import { newSecret } from '../../src/auth/secrets.ts'
import { newId } from '../../src/db/columns.ts'
import type { Driver } from '../../src/db/driver.ts'
import { Bus } from '../../src/events/bus.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import { makeEvent, quietLog } from '../db/events-support.ts'
import { mcpToken, type Person, person } from '../support/app.ts'
import { ada, addTeam, dropTeam, join, make, newTeam, stranger, t } from './spaces.ts'
import { inside } from './support.ts'

/** Which events make whose rights be read again. Events that name a user are in the tests of what they do. */

describe('a cached credential', () => {
  const [userId, team] = [newId(), newId()]
  const row = {
    user_id: userId,
    user_name: 'Ada',
    is_admin: false,
    status: 'active',
    preferred: null,
    memberships: JSON.stringify([[team, 'member']]),
    credential_id: newId(),
    expires_at: '2999-01-01T00:00:00.000Z',
    revoked_at: null,
    shared: '[]',
    scopes: '{write}',
    organization_id: null,
    projects: null,
  }
  const bus = new Bus({ kind: 'pglite' } as Driver, newId(), quietLog)
  const secret = newSecret('api_key')
  let reads = 0
  const query = async () => {
    reads++
    return { columns: Object.keys(row), rows: [Object.values(row)], count: 1 }
  }
  const auth = new Authenticator({ query } as Partial<Driver> as Driver, t.app.jwt, () => new Date(), bus, t.app.events)

  const cases: [string, Parameters<typeof makeEvent>[1], object, boolean][] = [
    ['its team changes', 'organization.updated', { organizationId: team }, true],
    ['another team changes', 'organization.updated', { organizationId: newId() }, false],
    ['a workspace of its team changes', 'workspace.updated', { organizationId: team }, true],
    ['a workspace of other teams changes', 'workspace.shared', { organizationId: newId() }, false],
    ['its user changes', 'user.updated', { userId }, true],
    ['another member of its team changes', 'user.updated', { userId: newId(), organizationId: team }, false],
    ['something unknown happens in another team', 'team.frozen', { organizationId: newId() }, true],
  ]
  test.each(cases)('is read again or kept when %s (%s)', async (_, type, about, again) => {
    // On a busy machine the second for which it is cached may pass meanwhile.
    const still = spyOn(performance, 'now').mockReturnValue(performance.now())
    try {
      await auth.lookUp(secret)
      const before = reads
      bus.deliver([{ ...makeEvent(newId(), type), ...about }])
      await auth.lookUp(secret)
      expect(reads - before).toBe(again ? 1 : 0)
    } finally {
      still.mockRestore()
    }
  })
})

describe('cached rights are read again', () => {
  let owned: Organization
  let guests: Organization
  let guest: Person
  beforeAll(async () => {
    guest = await person(t)
    ;[owned, guests] = [await newTeam(), await newTeam()]
    await join(guests, guest, 'member')
  })

  /** Returns which of these actors the events of a call concern, as open streams are told. */
  async function concerned(actors: Record<string, Actor>, call: () => Promise<{ status: number }>): Promise<string[]> {
    const found = new Set<string>()
    const stop = t.app.auth.watch((concerns) => {
      for (const [name, actor] of Object.entries(actors)) if (concerns(actor)) found.add(name)
    })
    const { status } = await call()
    stop()
    expect(status).toBeLessThan(300)
    return [...found].sort()
  }
  const actors = async () => ({
    ada: await t.app.auth.lookUp(ada.token),
    guest: await t.app.auth.lookUp(guest.token),
    stranger: await t.app.auth.lookUp(stranger.token),
  })

  test('for the members of a team that changes, and for no one else', async () => {
    const rename = () => ada.fetch('PATCH', `/api/teams/${owned.id}`, { description: 'Engines' })
    expect(await concerned(await actors(), rename)).toEqual(['ada'])
  })

  test('for the members of all teams in a workspace, from the moment a team joins until it has left', async () => {
    const space = await make(owned)
    expect(await concerned(await actors(), () => addTeam(ada, space, guests, 'viewer'))).toEqual(['ada', 'guest'])
    const change = () => ada.fetch('PATCH', `/api/workspaces/${space.id}`, { status: 'archived' })
    expect(await concerned(await actors(), change)).toEqual(['ada', 'guest'])
    expect(await concerned(await actors(), () => dropTeam(ada, space, guests))).toEqual(['ada', 'guest'])
    const remove = () => ada.fetch('DELETE', `/api/workspaces/${space.id}`)
    expect(await concerned({ stranger: (await actors()).stranger }, remove)).toEqual([])
  })

  test('for members, workspace guests and sandbox tokens of a team that is deleted', async () => {
    await addTeam(ada, await make(owned), guests, 'viewer')
    const token = await mcpToken(t, inside(ada, owned.id), { kind: 'test' })
    const all = { ...(await actors()), sandbox: await t.app.auth.lookUp(token) }
    const remove = () => ada.fetch('DELETE', `/api/teams/${owned.id}`)
    expect(await concerned(all, remove)).toEqual(['ada', 'guest', 'sandbox'])
  })
})

test('uses of a credential are counted before they are written, and are written once', async () => {
  const held = Promise.withResolvers<void>()
  const query: Driver['query'] = async (text, params) => {
    if (text.startsWith('update mcp_tokens')) await held.promise
    return t.app.driver.query(text, params)
  }
  const driver = { query } as Partial<Driver> as Driver
  const auth = new Authenticator(driver, t.app.jwt, () => new Date(), t.app.bus, t.app.events)
  const token = await mcpToken(t, ada)
  const { credentialId } = await auth.authenticate(token)
  const id = credentialId as string
  const flushes = [auth.flushUsage(), auth.flushUsage()]
  await auth.authenticate(token)
  expect(auth.unwrittenUses(id)?.count).toBe(2)
  held.resolve()
  await Promise.all(flushes)
  expect(auth.unwrittenUses(id)).toBeUndefined()
  const { rows } = await t.app.driver.query('select use_count from mcp_tokens where id = $1', [id])
  expect(rows).toEqual([[2]])
})
