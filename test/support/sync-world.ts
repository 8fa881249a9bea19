import { expect } from 'bun:test'
import fc from 'fast-check'
import type { Status } from '../../src/features/sync/schema.ts'
import { call, type Person, type TestApp, unique } from './app.ts'
import { type Cut, Line } from './line.ts'
import { type Pending, SyncClient } from './sync-client.ts'

/** Histories of four devices of two users over three projects, and what must be true of them. */

const kinds = [
  'edit',
  'tag',
  'text',
  'create',
  'link',
  'unlink',
  'delete',
  'push',
  'pull',
  'pull',
  'push',
  'rights',
  'move',
  'server',
] as const
export const stepOf = (more: readonly 'restore'[]) =>
  fc.record({
    kind: fc.constantFrom(...kinds, ...more),
    device: fc.nat(3),
    a: fc.nat(30),
    b: fc.nat(30),
    cut: fc.option(fc.constantFrom<Cut>('request', 'response'), { nil: undefined, freq: 1 }),
  })
export type Step = ReturnType<typeof stepOf> extends fc.Arbitrary<infer S> ? S : never

const FIELDS = ['title', 'content', 'tags', 'links', 'scope', 'projectId', 'pinned']

/** What a user typed, which must not get lost. */
interface Typed {
  device: SyncClient
  id: string
  field: string
  value: string
}

export class World {
  readonly projects: string[] = []
  readonly devices: SyncClient[] = []
  readonly #lines: Line[] = []
  readonly #private = new Set<string>()
  #typed: Typed[] = []
  /** Everything that was ever stored, of each record. */
  readonly #stored = new Map<string, string>()
  #snapshot: unknown
  #n = 0

  /** The devices take turns with the servers; more than one must share a database. */
  private constructor(
    private servers: readonly TestApp[],
    private readonly owner: Person,
  ) {}

  static async create(servers: readonly TestApp[], [owner, other]: [Person, Person], clock: () => string) {
    const world = new World(servers, owner)
    for (let i = 0; i < 3; i++) {
      const made = await world.#fetch(owner, 'POST', '/api/projects', { name: unique('World') })
      const projectId = String(made.body.id)
      world.projects.push(projectId)
      await world.#fetch(owner, 'POST', '/api/notes', { title: `n${i}`, content: 'a\nb\nc', tags: ['t'], projectId })
    }
    for (const [i, who] of [owner, owner, other, other].entries()) await world.#join(i, who, clock)
    await world.#look()
    world.#snapshot = await world.#rows()
    return world
  }

  async #join(i: number, who: Person, clock: () => string): Promise<void> {
    const line = await Line.to((this.servers[i % this.servers.length] as TestApp).url)
    this.#lines.push(line)
    const client = new SyncClient(over(line, who), `d${i}`, clock, line)
    await client.register(this.#containers)
    await client.pullAll()
    this.devices.push(client)
  }

  get #containers(): string[] {
    return this.projects.map((id) => `project:${id}`)
  }

  async close(): Promise<void> {
    const { owner } = this
    for (const { person, deviceId } of this.devices) await person.fetch('DELETE', `/api/sync/devices/${deviceId}`)
    for (const id of this.projects) await this.#fetch(owner, 'DELETE', `/api/projects/${id}`)
    for (const line of this.#lines) line.close()
  }

  // ---- what happens

  async run(step: Step): Promise<void> {
    const { kind, device: d, a, b, cut } = step
    const device = this.devices[d] as SyncClient
    const project = this.projects[b % 3] as string
    if (kind === 'push') await this.#push(device, b < 5 ? b : undefined, cut)
    else if (kind === 'pull') await this.#pull(device, 1 + (b % 4), cut)
    else if (kind === 'rights') await this.#toggle(project)
    else if (kind === 'move' || kind === 'server') await this.#change(kind, a, project, `v${++this.#n}`)
    else if (kind === 'restore') await this.#goBack()
    else this.#work(device, step)
  }

  /** Something that the user of a device does on it. */
  #work(device: SyncClient, { kind, a, b }: Step): void {
    const ids = device.ids('note')
    const [id, other] = [ids[a % Math.max(1, ids.length)], ids[b % Math.max(1, ids.length)]]
    const value = `v${++this.#n}.`
    const type = (note: string, field: string, content: unknown = value) => {
      device.edit('note', note, field, content)
      this.#typed.push({ device, id: note, field, value })
    }
    if (kind === 'create') {
      const fields = { title: value, content: 'a\nb\nc', tags: [], projectId: this.projects[b % 3] as string }
      this.#typed.push({ device, id: device.create('note', fields), field: 'title', value })
    } else if (kind === 'unlink') {
      const links = device.ids('link')
      const link = links[a % Math.max(1, links.length)]
      if (link) device.remove('link', link, [])
    } else if (!id) return
    else if (kind === 'edit') type(id, 'title')
    else if (kind === 'tag') type(id, 'tags', [...((device.view(id)?.tags ?? []) as string[]).slice(b % 2), value])
    else if (kind === 'text') type(id, 'content', withLine(String(device.view(id)?.content ?? ''), b, value))
    else if (kind === 'delete') device.remove('note', id, FIELDS)
    else if (kind === 'link' && other && other !== id)
      device.create('link', { fromType: 'note', fromId: id, toType: 'note', toId: other })
  }

  async #push(device: SyncClient, most: number | undefined, cut: Cut | undefined): Promise<void> {
    const sent = device.pending.slice(0, most ?? 500)
    const before = await this.#titles()
    const known = new Set(device.answered)
    await device.push({ most, cut })
    await this.#look()
    if (cut !== 'request') this.#expectSeen(sent, known, before, await this.#titles())
  }

  /** P2: no title was overwritten by somebody who had not seen it. */
  #expectSeen(sent: readonly Pending[], known: Set<string>, before: Titles, after: Titles): void {
    for (const { id, fields, base, mutationId } of sent) {
      const [was, now] = [before.get(id), after.get(id)]
      if (known.has(mutationId) || fields.title === undefined || now !== fields.title) continue
      const seen = sent.filter((one) => one.id === id && one.fields.title !== undefined).map((one) => one.base?.title)
      if (base !== null && was !== undefined && was !== now) expect(seen).toContain(was)
    }
  }

  async #pull(device: SyncClient, limit: number, cut: Cut | undefined): Promise<void> {
    device.limit = limit
    await device.pull({ cut })
    // P3: nothing of a container that the user has lost.
    if (cut || device.person.userId === this.owner.userId) return
    expect(device.all().filter(({ container }) => this.#private.has(container.slice(8)))).toEqual([])
  }

  async #toggle(project: string): Promise<void> {
    const share = `/api/projects/${project}/share`
    const visibility = this.#private.has(project) ? 'team' : 'private'
    await this.#fetch(this.owner, 'POST', share, { visibility })
    if (!this.#private.delete(project)) this.#private.add(project)
  }

  /** Somebody changes or moves a note at the server. */
  async #change(kind: 'move' | 'server', a: number, projectId: string, title: string): Promise<void> {
    const all = await this.#query('select id from notes where project_id = any($1) and deleted_at is null order by id')
    const id = all[a % Math.max(1, all.length)]?.[0]
    if (id) await this.#fetch(this.owner, 'PUT', `/api/notes/${id}`, kind === 'move' ? { projectId } : { title })
    await this.#look()
  }

  // ---- restores

  async #rows(): Promise<unknown> {
    return (await this.#query("select coalesce(jsonb_agg(to_jsonb(n) - 'search'), '[]')::text from notes n where project_id = any($1)"))[0]?.[0] // biome-ignore format: one query
  }

  /** What a restore does to these notes: receipts since the snapshot are lost, and the epoch is another. */
  async #goBack(): Promise<void> {
    const columns = `id, created_at, updated_at, version, deleted_at, organization_id, created_by_id, project_id, title,
      slug, content, tags, links, scope, pinned, mentions`
    const devices = `{${this.devices.map(({ deviceId }) => deviceId).join(',')}}`
    const { driver } = this.#app
    await this.#query('delete from notes where project_id = any($1)')
    await driver.query(
      `insert into notes (${columns}) select ${columns} from jsonb_populate_recordset(null::notes, $1::text::jsonb)`,
      [this.#snapshot],
    )
    await driver.query('delete from sync_receipts where device_id = any($1::uuid[])', [devices])
    await driver.query('delete from links where not exists (select 1 from notes where id = from_id or id = to_id)')
    await driver.query("update meta set value = $1 where key = 'epoch'", [Bun.randomUUIDv7()])
    await this.#startAgain()
  }

  /** All devices now talk to a server that was restored from a backup of theirs. */
  async moveTo(server: TestApp): Promise<void> {
    this.servers = [server]
    for (const line of this.#lines) line.leadTo(server.url)
    await this.#startAgain()
  }

  /** P5: what no pull had settled must not get lost; whatever else came after the backup is gone. */
  async #startAgain(): Promise<void> {
    this.#stored.clear()
    this.#typed = this.#typed.filter(({ device, id, field, value }) =>
      device.pending.some((one) => one.id === id && JSON.stringify(one.fields[field] ?? null).includes(value)),
    )
    const shared = await this.#projectsSeen()
    this.#private.clear()
    for (const id of this.projects) if (!shared.has(id)) this.#private.add(id)
    await this.#look()
  }

  async #projectsSeen(): Promise<Set<unknown>> {
    const { rows } = await this.#app.driver.query(
      "select id from projects where id = any($1::uuid[]) and visibility <> 'private'",
      [`{${this.projects.join(',')}}`],
    )
    return new Set(rows.map(([id]) => id))
  }

  // ---- what must be true in the end

  /** P1, P2 and P7, after everything was pushed and pulled. */
  async expectConverged(): Promise<void> {
    for (let round = 0; round < 2; round++)
      for (const device of this.devices) {
        device.limit = undefined
        await device.push()
        await this.#look()
        await device.pullAll()
      }
    for (const device of this.devices) await this.#expectLikeFresh(device)
    expect(await this.#lost()).toEqual([])
  }

  async #expectLikeFresh(device: SyncClient): Promise<void> {
    const fresh = new SyncClient(device.person, 'fresh')
    await fresh.register(this.#containers)
    await fresh.pullAll()
    await device.person.fetch('DELETE', `/api/sync/devices/${fresh.deviceId}`)
    expect(device.pending).toEqual([])
    expect(device.all()).toEqual(fresh.all())
    const { body } = await device.person.fetch<Status>('GET', `/api/sync/status?deviceId=${device.deviceId}`)
    expect(device.differing(body.containers)).toEqual([])
  }

  /** P2: returns what was typed and is neither stored, nor in a conflict, nor rejected, nor typed over. */
  async #lost(): Promise<string[]> {
    const { rows } = await this.#app.driver.query(
      'select device_id, record_id, "values"::text from sync_conflicts where device_id = any($1::uuid[])',
      [`{${this.devices.map(({ deviceId }) => deviceId).join(',')}}`],
    )
    const isKept = ({ device, id, value }: Typed): boolean =>
      (this.#stored.get(id) ?? '').includes(value) ||
      rows.some((row) => row[0] === device.deviceId && row[1] === id && String(row[2]).includes(value)) ||
      device.rejected.some((one) => one.id === id && JSON.stringify(one.fields).includes(value))
    const isTypedOver = ({ device, id, field }: Typed, at: number): boolean =>
      this.#typed.slice(at + 1).some((later) => later.device === device && later.id === id && later.field === field)
    return this.#typed.flatMap((one, at) =>
      isKept(one) || isTypedOver(one, at) ? [] : `${one.field} ${one.value} of ${one.id}`,
    )
  }

  // ---- the server

  get #app() {
    return (this.servers[0] as TestApp).app
  }

  #fetch(who: Person, method: string, path: string, body?: object) {
    return call(this.servers.at(-1) as TestApp, method, path, body, { authorization: `Bearer ${who.token}` })
  }

  async #query(text: string): Promise<unknown[][]> {
    return (await this.#app.driver.query(text.replace('$1', '$1::uuid[]'), [`{${this.projects.join(',')}}`])).rows
  }

  async #titles(): Promise<Titles> {
    const rows = await this.#query('select id, title from notes where project_id = any($1)')
    return new Map(rows.map(([id, title]) => [String(id), String(title)]))
  }

  /** Remembers what is stored now, deleted or not. */
  async #look(): Promise<void> {
    const rows = await this.#query("select id, title || ' ' || content || ' ' || tags::text from notes where project_id = any($1)") // biome-ignore format: one query
    for (const [id, text] of rows as string[][])
      this.#stored.set(id as string, `${this.#stored.get(id as string) ?? ''} ${text}`)
  }
}

type Titles = Map<string, string>

/** The person, with their requests over a line; each takes a connection of its own, which nothing opens again. */
function over(line: Line, who: Person): Person {
  const own = { authorization: `Bearer ${who.token}`, 'x-organization-id': who.organizationId, connection: 'close' }
  return { ...who, fetch: (method, path, body, headers = {}) => call(line, method, path, body, { ...own, ...headers }) }
}

function withLine(text: string, n: number, line: string): string {
  const lines = text.split('\n')
  lines[n % lines.length] = line
  return lines.join('\n')
}
