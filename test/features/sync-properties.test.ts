import { beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { merge, mergeLines } from '../../src/features/sync/merge.ts'
import type { ConflictPage, Status } from '../../src/features/sync/schema.ts'
import { member, type Person, person, sharedApp, unique } from '../support/app.ts'
import { type Pending, SyncClient } from '../support/sync-client.ts'

/**
 * Histories of four devices of two users over three projects: lost answers, cut pushes, changed rights, moves, deletes,
 * wrong clocks, and a restore of the server in between. `./test/run --soak` runs more of them.
 */
const HISTORIES = process.env.SOAK ? 300 : 2
/** Without SOAK, every run plays the same histories. */
if (!process.env.SOAK) fc.configureGlobal({ seed: 14 })
const t = await sharedApp()
let ada: Person
let grace: Person
beforeAll(async () => {
  ada = await person(t)
  grace = await member(t, ada, 'member')
})

const kinds = [
  'edit',
  'tag',
  'text',
  'create',
  'delete',
  'push',
  'pull',
  'pull',
  'push',
  'rights',
  'move',
  'server',
] as const
const step = fc.record({
  kind: fc.constantFrom(...kinds, 'restore' as const),
  device: fc.nat(3),
  a: fc.nat(30),
  b: fc.nat(30),
  lost: fc.boolean(),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const FIELDS = ['title', 'content', 'tags', 'links', 'scope', 'projectId', 'pinned']

/** One history, with what a test must remember of it. */
class World {
  projects: string[] = []
  devices: SyncClient[] = []
  readonly #private = new Set<string>()
  #snapshot: { notes: unknown; at: string } | undefined
  #n = 0

  static async create(clock: () => string): Promise<World> {
    const world = new World()
    for (let i = 0; i < 3; i++) {
      const { body } = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('World') })
      world.projects.push(body.id)
      await ada.fetch('POST', '/api/notes', { title: `n${i}`, content: 'a\nb\nc', tags: ['t'], projectId: body.id })
    }
    const only = world.projects.map((id) => `project:${id}`)
    for (const [i, who] of [ada, ada, grace, grace].entries()) {
      const client = new SyncClient(who, `d${i}`, clock)
      await client.register(only)
      await client.pullAll()
      world.devices.push(client)
    }
    await world.#keep()
    return world
  }

  async close(): Promise<void> {
    for (const { person: who, deviceId } of this.devices) await who.fetch('DELETE', `/api/sync/devices/${deviceId}`)
    for (const id of this.projects) await ada.fetch('DELETE', `/api/projects/${id}`)
  }

  async run({ kind, device: d, a, b, lost }: Step): Promise<void> {
    const device = this.devices[d] as SyncClient
    const ids = device.ids('note')
    const id = ids[a % Math.max(1, ids.length)]
    const value = `v${++this.#n}`
    const project = this.projects[b % 3] as string
    if (kind === 'edit' && id) device.edit('note', id, 'title', value)
    if (kind === 'tag' && id)
      device.edit('note', id, 'tags', [...((device.view(id)?.tags ?? []) as string[]).slice(b % 2), value])
    if (kind === 'text' && id) device.edit('note', id, 'content', this.#edited(device, id, b, value))
    if (kind === 'create') device.create('note', { title: value, content: 'a\nb\nc', tags: [], projectId: project })
    if (kind === 'delete' && id) device.remove('note', id, FIELDS)
    if (kind === 'push') await this.#push(device, lost, b < 5 ? b : undefined)
    if (kind === 'pull') await this.#pull(device, lost, 1 + (b % 4))
    if (kind === 'rights') await this.#toggle(project)
    if (kind === 'move' || kind === 'server') await this.#change(kind, a, project, value)
    if (kind === 'restore') await this.#restore()
  }

  #edited(device: SyncClient, id: string, b: number, value: string): string {
    const lines = String(device.view(id)?.content ?? '').split('\n')
    lines[b % lines.length] = value
    return lines.join('\n')
  }

  async #push(device: SyncClient, lost: boolean, cut: number | undefined): Promise<void> {
    const sent = device.pending.slice(0, cut ?? 500)
    const before = await this.#titles()
    const known = new Set(device.answered)
    await device.push({ cut, lost })
    // No title was overwritten by somebody who had not seen it.
    const after = await this.#titles()
    for (const mutation of sent) {
      const { id, fields, base } = mutation as Pending
      const now = after.get(id)
      const was = before.get(id)
      if (known.has(mutation.mutationId) || fields.title === undefined || now !== fields.title) continue
      const seen = sent.filter((one) => one.id === id && one.fields.title !== undefined).map((one) => one.base?.title)
      if (base !== null && was !== undefined && was !== now) expect(seen).toContain(was)
    }
  }

  async #titles(): Promise<Map<string, string>> {
    const { rows } = await t.app.driver.query('select id, title from notes where project_id = any($1::uuid[])', [
      `{${this.projects.join(',')}}`,
    ])
    return new Map(rows.map(([id, title]) => [String(id), String(title)]))
  }

  async #pull(device: SyncClient, lost: boolean, limit: number): Promise<void> {
    device.limit = limit
    await device.pull({ lost })
    if (!lost) this.#expectNothingLost(device)
  }

  /** P3: nothing of a container that the user has lost. */
  #expectNothingLost(device: SyncClient): void {
    if (device.person === ada) return
    expect(device.all().filter(({ container }) => this.#private.has(container.slice(8)))).toEqual([])
  }

  async #toggle(project: string): Promise<void> {
    if (this.#private.has(project)) await ada.fetch('POST', `/api/projects/${project}/share`, { visibility: 'team' })
    else await ada.fetch('DELETE', `/api/projects/${project}/share`)
    if (!this.#private.delete(project)) this.#private.add(project)
  }

  /** Somebody changes or moves a note at the server. */
  async #change(kind: 'move' | 'server', a: number, projectId: string, title: string): Promise<void> {
    const all = [...(await this.#live())]
    const id = all[a % Math.max(1, all.length)]
    if (id) await ada.fetch('PUT', `/api/notes/${id}`, kind === 'move' ? { projectId } : { title })
  }

  async #live(): Promise<string[]> {
    const { rows } = await t.app.driver.query(
      'select id from notes where project_id = any($1::uuid[]) and deleted_at is null order by id',
      [`{${this.projects.join(',')}}`],
    )
    return rows.map(([id]) => String(id))
  }

  /** Remembers the notes, as a backup does. */
  async #keep(): Promise<void> {
    const { rows } = await t.app.driver.query(
      `select coalesce(jsonb_agg(to_jsonb(n) - 'search'), '[]')::text, now()::text from notes n
        where project_id = any($1::uuid[])`,
      [`{${this.projects.join(',')}}`],
    )
    this.#snapshot = { notes: rows[0]?.[0], at: String(rows[0]?.[1]) }
  }

  /** Brings back the notes of the snapshot; receipts and cursors since then are lost, and the epoch is another. */
  async #restore(): Promise<void> {
    const projects = `{${this.projects.join(',')}}`
    const devices = `{${this.devices.map(({ deviceId }) => deviceId).join(',')}}`
    const columns = `id, created_at, updated_at, version, deleted_at, organization_id, created_by_id, project_id, title,
      slug, content, tags, links, scope, pinned, mentions`
    await t.app.driver.query('delete from notes where project_id = any($1::uuid[])', [projects])
    await t.app.driver.query(
      `insert into notes (${columns}) select ${columns} from jsonb_populate_recordset(null::notes, $1::text::jsonb)`,
      [this.#snapshot?.notes],
    )
    await t.app.driver.query('delete from sync_receipts where device_id = any($1::uuid[])', [devices])
    await t.app.driver.query("update meta set value = $1 where key = 'epoch'", [Bun.randomUUIDv7()])
  }

  /** Everything is pushed and pulled; then all must agree. */
  async expectConverged(): Promise<void> {
    for (let round = 0; round < 2; round++)
      for (const device of this.devices) {
        device.limit = undefined
        await device.push()
        await device.pullAll()
      }
    for (const device of this.devices) {
      const fresh = new SyncClient(device.person, 'fresh')
      await fresh.register(this.projects.map((id) => `project:${id}`))
      await fresh.pullAll()
      await device.person.fetch('DELETE', `/api/sync/devices/${fresh.deviceId}`)
      expect(device.pending).toEqual([])
      expect(device.all()).toEqual(fresh.all())
      const { body } = await device.person.fetch<Status>('GET', `/api/sync/status?deviceId=${device.deviceId}`)
      expect(device.differing(body.containers)).toEqual([])
      await this.#expectDecided(device)
    }
  }

  /** P2: every conflict that a receipt names is kept, with what the device wanted. */
  async #expectDecided(device: SyncClient): Promise<void> {
    const named = device.receipts.flatMap(({ conflicts = [] }) => conflicts)
    if (named.length === 0) return
    const { body } = await device.person.fetch<ConflictPage>('GET', '/api/sync/conflicts?limit=100')
    const kept = new Set(body.items.map(({ id }) => id))
    if (body.nextCursor === null) expect(named.filter((id) => !kept.has(id))).toEqual([])
  }
}

test('devices converge, lose no edit, and overwrite nothing unseen, whatever happens', async () => {
  const history = fc.array(step, { minLength: 15, maxLength: 30, size: 'max' })
  await fc.assert(
    fc.asyncProperty(history, fc.infiniteStream(fc.date({ noInvalidDate: true })), async (steps, clocks) => {
      const world = await World.create(() => clocks.next().value.toISOString())
      try {
        for (const one of steps) await world.run(one)
        await world.expectConverged()
      } finally {
        await world.close()
      }
    }),
    { numRuns: HISTORIES, endOnFailure: true },
  )
})

test('merging with what was not changed changes nothing', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(text, text, (b, x) => {
      for (const kind of ['value', 'text'] as const) {
        expect(merge(kind, b, x, b)).toEqual({ value: x, how: 'unchanged' })
        expect(merge(kind, b, x, x)).toEqual({ value: x, how: 'unchanged' })
        expect(merge(kind, b, b, x)).toMatchObject({ value: x })
      }
    }),
  )
  const tags = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'))
  fc.assert(
    fc.property(tags, tags, tags, (b, x, y) => {
      const [one, two] = [merge('set', b, x, y), merge('set', b, y, x)]
      if (one === 'conflict' || two === 'conflict') throw new Error('sets never conflict')
      expect([...(one.value as string[])].sort()).toEqual([...(two.value as string[])].sort())
    }),
  )
})

test('lines that both changed are a conflict, others are merged; sizes bound the work', () => {
  expect(mergeLines('a\nb\nc', 'A\nb\nc', 'a\nb\nC')).toBe('A\nb\nC')
  expect(mergeLines('a\nb\nc', 'A\nb\nc', 'X\nb\nc')).toBeUndefined()
  expect(mergeLines('a\nb\nc', 'a\nc', 'a\nb\nc\nd')).toBe('a\nc\nd')
  expect(mergeLines('a', 'a\nx', 'a\ny')).toBeUndefined()
  const long = Array.from({ length: 20_001 }, (_, i) => i).join('\n')
  expect(mergeLines(long, `x\n${long}`, `${long}\ny`)).toBeUndefined()
  const other = Array.from({ length: 3000 }, (_, i) => `x${i}`).join('\n')
  expect(mergeLines('a', other, 'b')).toBeUndefined()
})

test('random pushes are refused or decided on, and never break the server', async () => {
  const client = new SyncClient(ada, 'fuzz')
  await client.register()
  const { deviceId } = client
  const uuid = fc.constantFrom(Bun.randomUUIDv7(), Bun.randomUUIDv7(), 'x', '')
  const entity = fc.constantFrom(...t.app.records.synced.map((one) => one.entity), 'user', '__proto__', 'constructor')
  const names = fc.constantFrom(
    'title',
    'projectId',
    'tags',
    'version',
    '__proto__',
    'fromId',
    'organizationId',
    'body',
  )
  const fields = fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
  const mutation = fc.record(
    {
      mutationId: fc.constant(0).map(() => Bun.randomUUIDv7()),
      entity,
      id: fc.constant(0).map(() => Bun.randomUUIDv7()),
      op: fc.constantFrom('upsert', 'delete'),
      fields,
      base: fc.oneof(fields, fc.constant(null)),
      at: fc.string({ maxLength: 10 }),
      via: uuid,
    },
    { requiredKeys: ['mutationId', 'entity', 'id', 'op'] },
  )
  const body = fc.oneof(
    { weight: 5, arbitrary: fc.array(mutation, { maxLength: 4 }).map((mutations) => ({ deviceId, mutations })) },
    { weight: 1, arbitrary: fc.jsonValue() },
  )
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const { status, body: answer } = await ada.fetch('POST', '/api/sync/push', sent)
      if (status >= 500 || ![200, 400, 413, 415, 422].includes(status))
        throw new Error(`${status} ${JSON.stringify(answer)}`)
    }),
    { numRuns: 50 * HISTORIES },
  )
  await ada.fetch('DELETE', `/api/sync/devices/${deviceId}`)
})
