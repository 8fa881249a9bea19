import { beforeAll, describe, expect, test } from 'bun:test'
import {
  type BundleHead,
  type BundleKeys,
  exportPublicKey,
  keyFingerprint,
  keysOf,
  newSeeds,
  openBundle,
  packBundle,
} from '../../src/auth/bundle.ts'
import type { Carried, Mutation, Page, Pushed, Registered } from '../../src/features/sync/schema.ts'
import { createToken, revokeToken } from '../../src/features/tokens/service.ts'
import { apiKey, call, member, PASSWORD, type Person, person, sharedApp, unique } from '../support/app.ts'
import { SyncClient } from '../support/sync-client.ts'

/** What a device may do, and until when. `sync.test.ts` shows what is exchanged. */
const t = await sharedApp()
const SCHEMA = '2026-11-16'
let ada: Person
let grace: Person
let project: string
beforeAll(async () => {
  ada = await person(t)
  grace = await member(t, ada, 'member')
  project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Sync') })).body.id
})

async function device(who: Person): Promise<SyncClient> {
  const client = new SyncClient(who, unique('device'))
  await client.register()
  return client
}

/** As if the value had been stored on another day. */
const set = (client: SyncClient, column: string, value: string) =>
  t.app.driver.query(`update sync_devices set ${column} = ${value} where id = $1`, [client.deviceId])

const register = (who: Person, body: object = {}) =>
  who.fetch<Registered & { detail?: string }>('POST', '/api/sync/devices/register', {
    name: 'laptop',
    platform: 'test',
    schema: SCHEMA,
    ...body,
  })

const newNote = (fields: object = {}, more: Partial<Mutation> = {}): Mutation => ({
  mutationId: Bun.randomUUIDv7(),
  entity: 'note',
  id: Bun.randomUUIDv7(),
  op: 'upsert',
  fields: { title: 'By a device', projectId: project, ...fields },
  ...more,
})

/** Returns the status of everything that a device asks for. */
async function statuses(client: SyncClient): Promise<number[]> {
  const { person: who, deviceId } = client
  const pushed = await who.fetch('POST', '/api/sync/push', { deviceId, mutations: [newNote()] })
  const status = await who.fetch('GET', `/api/sync/status?deviceId=${deviceId}`)
  return [(await client.ask()).status, pushed.status, status.status]
}

test('a device expires 90 days after its last call', async () => {
  const client = await device(ada)
  await set(client, 'last_seen_at', "now() - interval '89 days'")
  expect((await client.ask()).status).toBe(200)
  await set(client, 'last_seen_at', "now() - interval '91 days'")
  expect(await statuses(client)).toEqual([410, 410, 410])
  expect((await register(ada, { deviceId: client.deviceId })).status).toBe(410)
  // It counts for no limit, and a new one takes its place.
  expect((await register(ada)).status).toBe(200)
})

test('a program over a year older than the protocol must be updated, and then continues with its device', async () => {
  const refused = await register(ada, { schema: '2025-11-15' })
  expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('Install a newer version')])
  expect((await register(ada, { schema: '2025-11-16' })).status).toBe(200)
  const client = await device(ada)
  await client.pullAll()
  await set(client, 'schema', "'2025-11-15'")
  expect(await statuses(client)).toEqual([409, 409, 409])
  expect((await register(ada, { deviceId: client.deviceId })).body.deviceId).toBe(client.deviceId)
  expect(await statuses(client)).toEqual([200, 200, 200])
})

test('the last page of a pull contains the checksums of the containers, once an hour', async () => {
  await ada.fetch('POST', '/api/notes', { title: 'Counted', projectId: project })
  const client = await device(ada)
  client.limit = 2
  const checks: Page['check'][] = []
  for (let more = true; more; ) {
    const { body } = await client.ask()
    client.apply(body)
    checks.push(body.check)
    more = body.hasMore
  }
  const last = checks.pop() ?? []
  expect(checks.filter((check) => check !== undefined)).toEqual([])
  expect(last.find(({ container }) => container === `project:${project}`)?.count).toBeGreaterThan(1)
  expect(client.differing(last)).toEqual([])
  expect((await client.ask()).body.check).toBeUndefined()
  await set(client, 'last_check_at', "now() - interval '61 minutes'")
  // A copy that lost a record differs in its container, and only there.
  const [lost] = client.ids('note')
  client.copy.delete(`note ${lost}`)
  expect(client.differing((await client.ask()).body.check ?? [])).toEqual([`project:${project}`])
})

describe('removing a device', () => {
  const as = (who: Person, token: string): Person => ({
    ...who,
    fetch: (method, path, body) => call(t, method, path, body, { authorization: `Bearer ${token}` }),
  })

  test('ends the session or the key that registered it', async () => {
    const { body: login } = await call<{ token: string }>(t, 'POST', '/api/auth/login', {
      email: ada.email,
      password: PASSWORD,
    })
    for (const token of [login.token, await apiKey(t, ada, ['read', 'write'])]) {
      const client = await device(as(ada, token))
      expect(await statuses(client)).toEqual([200, 200, 200])
      const path = `/api/sync/devices/${client.deviceId}`
      expect((await grace.fetch('DELETE', path)).status).toBe(404)
      expect((await client.ask()).status).toBe(200)
      expect((await ada.fetch('DELETE', path)).status).toBe(200)
      expect(await statuses(client)).toEqual([401, 401, 401])
      expect((await client.person.fetch('GET', '/api/notes')).status).toBe(401)
    }
    expect((await ada.fetch('GET', '/api/notes')).status).toBe(200)
  })

  test('is refused to a key that did not register it, and leaves the caller signed in', async () => {
    const client = await device(ada)
    const key = as(ada, await apiKey(t, ada, ['read', 'write']))
    expect((await key.fetch('DELETE', `/api/sync/devices/${client.deviceId}`)).status).toBe(403)
    expect((await client.ask()).status).toBe(200)
    expect((await ada.fetch('DELETE', `/api/sync/devices/${client.deviceId}`)).status).toBe(200)
    expect(await statuses(client)).toEqual([404, 404, 404])
  })
})

describe('a pushed change of an agent', () => {
  const token = async (who: Person, scopes: string[]) =>
    (await createToken(await who.ctx(), { name: 'agent', organizationId: who.organizationId, scopes })).id

  const push = async (client: SyncClient, mutations: Mutation[], bearer?: string) => {
    const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
    const body = { deviceId: client.deviceId, mutations }
    const answer = await client.person.fetch<Pushed>('POST', '/api/sync/push', body, headers)
    return answer.body.receipts.map(({ status, code }) => code ?? status)
  }

  test('is made by the agent, with the rights that both its token and the sender have', async () => {
    const client = await device(ada)
    const writer = await token(ada, ['read', 'write'])
    const reader = await token(ada, ['notes:read'])
    const made = newNote({}, { via: writer })
    expect(await push(client, [made, newNote({}, { via: reader })])).toEqual(['applied', 'forbidden'])
    const { rows } = await t.app.driver.query(
      `select actor_kind, credential_id from events where subject_id = $1 and type = 'note.created'`,
      [made.id],
    )
    expect(rows).toEqual([['agent', writer]])
    const key = await apiKey(t, ada, ['notes:read', 'tasks:write'])
    const task = { ...newNote({ title: 'Task' }, { via: writer }), entity: 'task' }
    expect(await push(client, [newNote({}, { via: writer }), task], key)).toEqual(['forbidden', 'applied'])
  })

  test('needs a valid token of the sender', async () => {
    const client = await device(grace)
    const [own, other] = [await token(grace, ['write']), await token(ada, ['write'])]
    const via = (id: string) => newNote({}, { via: id })
    expect(await push(client, [via(other), via(Bun.randomUUIDv7()), via(own)])).toEqual([
      'unauthenticated',
      'unauthenticated',
      'applied',
    ])
    await revokeToken(await grace.ctx(), { id: own })
    expect(await push(client, [via(own)])).toEqual(['unauthenticated'])
  })

  test('is limited to the team of its token', async () => {
    const elsewhere = (await ada.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Other') })).body.id
    const inOther = { 'x-organization-id': elsewhere }
    const made = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Secret') }, inOther)
    const note = { title: 'Theirs', projectId: made.body.id }
    const { id } = (await ada.fetch<{ id: string }>('POST', '/api/notes', note, inOther)).body
    const client = await device(ada)
    const via = await token(ada, ['read', 'write'])
    const edit = newNote({}, { id, fields: { title: 'Mine' }, base: { title: 'Theirs' } })
    const again = { ...edit, mutationId: Bun.randomUUIDv7(), via }
    const into = newNote({ projectId: made.body.id }, { via })
    expect(await push(client, [again, into, edit])).toEqual(['not_found', 'not_found', 'applied'])
  })
})

describe('a sync bundle', () => {
  class Island {
    readonly keys: BundleKeys = keysOf(newSeeds())
    readonly device = exportPublicKey(this.keys.signing)
    box: string | undefined

    write(number: number, mutations: readonly Mutation[] = []): Buffer {
      const head = { direction: 'out' as const, number, device: this.device, name: 'island', user: ada.email }
      const request = { schema: SCHEMA, platform: 'test' }
      return packBundle({ ...head, server: t.url, at: SCHEMA }, [request, ...mutations], this.keys, this.box)
    }

    async carry(file: Buffer, mark = keyFingerprint(this.device)): Promise<[number, BundleHead?]> {
      const body = { bundle: file.toString('base64'), fingerprint: mark }
      const answer = await ada.fetch<Carried>('POST', '/api/sync/carry', body)
      if (answer.status !== 200) return [answer.status]
      const { head } = openBundle(Buffer.from(answer.body.bundle, 'base64'))
      this.box = head.box
      return [200, head]
    }
  }

  test('is refused if an earlier one is missing, or if it was applied before', async () => {
    const island = new Island()
    expect(await island.carry(island.write(2))).toEqual([409])
    const first = island.write(1)
    expect(await island.carry(first)).toMatchObject([200, { direction: 'back', number: 1 }])
    expect(await island.carry(first)).toEqual([409])
    expect(await island.carry(island.write(3))).toEqual([409])
    const made = newNote()
    expect(await island.carry(island.write(2, [made]))).toMatchObject([200, { number: 2 }])
    expect((await ada.fetch('GET', `/api/notes/${made.id}`)).status).toBe(200)
    expect(await island.carry(island.write(1))).toEqual([409])
    // Its answer was lost, so the device wrote the number again.
    expect(await island.carry(island.write(2, [made]))).toMatchObject([200, { number: 2 }])
  })

  test('is refused if it was changed, is not encrypted, or comes from an unexpected device', async () => {
    const [island, other] = [new Island(), new Island()]
    expect((await island.carry(island.write(1)))[0]).toBe(200)
    const made = newNote()
    const changed = island.write(2, [made])
    changed[changed.length - 1] = (changed.at(-1) as number) ^ 1
    expect(await island.carry(changed)).toEqual([422])
    expect(await island.carry(island.write(2, [made]), keyFingerprint(other.device))).toEqual([422])
    expect(await other.carry(other.write(1, [made]))).toEqual([422])
    // The embedded database stops at what is nested deeper than its stack.
    const deep = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) as unknown
    expect(await island.carry(island.write(2, [{ ...made, base: { title: deep } }]))).toEqual([422])
    expect((await ada.fetch('GET', `/api/notes/${made.id}`)).status).toBe(404)
  })
})
