import { describe, expect, test } from 'bun:test'
import type { Mutation, Pushed, Receipt } from '../../src/features/sync/schema.ts'
import type { SyncEntity } from '../../src/records/sync.ts'
import { member, type Person, person, sharedApp, unique } from '../support/app.ts'
import { oneOfEach } from '../support/records.ts'
import { SyncClient } from '../support/sync-client.ts'
import { inside } from './support.ts'

const t = await sharedApp()

const newDevice = async (who: Person): Promise<SyncClient> => {
  const client = new SyncClient(who, unique('device'))
  await client.register()
  await client.pullAll()
  return client
}

const send = async (client: SyncClient, mutations: Mutation[]): Promise<Receipt[]> => {
  const body = { deviceId: client.deviceId, mutations }
  return (await client.person.fetch<Pushed>('POST', '/api/sync/push', body)).body.receipts
}

type Fields = Record<string, unknown>
const createOf = (entity: string, fields: Fields, more: Partial<Mutation> = {}): Mutation => ({
  mutationId: Bun.randomUUIDv7(),
  entity,
  id: Bun.randomUUIDv7(),
  op: 'upsert',
  fields,
  ...more,
})

/** Names and keys that a second record of the same team cannot have. */
const unlike = (fields: Fields): Fields => ({
  ...fields,
  ...('name' in fields && { name: unique('Copy') }),
  ...('key' in fields && { key: null }),
})

/** Returns a create of a record like the one that the device pulled. */
function createLike({ entity, fields, onCreate = [] }: SyncEntity, client: SyncClient, team: string): Mutation {
  const copy = client.all().find((one) => one.entity === entity && !one.record?.supersedes)
  const settable = [...Object.keys(fields), ...onCreate].map((name) => [name, copy?.record?.[name] ?? null])
  return createOf(entity, { ...unlike(Object.fromEntries(settable) as Fields), organizationId: team })
}

describe('POST /api/sync/push of a new record', () => {
  test('is rejected for every entity if the caller has left the team that the record names', async () => {
    const boss = await person(t)
    await oneOfEach(boss)
    const left = await member(t, boss, 'member')
    const { organizationId: own } = await left.ctx().then(({ actor }) => actor)
    const client = await newDevice(left)
    const entities = t.app.records.synced.filter(({ place }) => place)
    const creates = () =>
      entities.flatMap((entity) => {
        const create = createLike(entity, client, boss.organizationId)
        const { projectId: _, ...teamWide } = create.fields as Fields
        return [create, createOf(entity.entity, unlike(teamWide))]
      })
    const applied = new Set(
      (await send(client, creates())).map(({ status }, i) => status === 'applied' && entities[i >> 1]?.entity),
    )
    for (const entity of ['note', 'decision', 'project', 'skill', 'agent', 'memory', 'task'])
      expect(applied).toContain(entity)

    const removed = await boss.fetch('DELETE', `/api/teams/${boss.organizationId}/members/${left.userId}`)
    expect(removed.status).toBe(200)
    const at = inside(left, String(own))
    const home = Object.assign(client, { person: at })
    const late = creates()
    const receipts = await send(home, late)
    expect(receipts.filter(({ status }) => status !== 'rejected')).toEqual([])
    const ids = late.filter(({ fields }) => !(fields as Fields).taskId).map(({ id }) => id)
    const seen = await newDevice(at)
    expect(seen.all().filter(({ id }) => ids.includes(id))).toEqual([])
    const notes = receipts.find((_, i) => late[i]?.entity === 'note')
    expect(notes).toMatchObject({ code: 'not_found' })
    expect(notes?.detail).toBe(
      `You are not in the team ${boss.organizationId}, so the record was not created. ` +
        'Create it again in one of your teams, or ask for an invitation to this one.',
    )
  })

  test('is rejected if the team that it names is not an id', async () => {
    const client = await newDevice(await person(t))
    const receipts = await send(client, [createOf('note', { title: 'Lost', content: 'x', organizationId: 7 })])
    expect(receipts).toMatchObject([{ status: 'rejected', code: 'invalid' }])
  })

  test('with an empty base is created like one without a base', async () => {
    const client = await newDevice(await person(t))
    const create = createOf('note', { title: 'Empty base', content: 'x' }, { base: {} })
    expect(await send(client, [create])).toMatchObject([{ status: 'applied' }])
    const { body } = await client.person.fetch<{ title: string }>('GET', `/api/notes/${create.id}`)
    expect(body.title).toBe('Empty base')
  })
})
