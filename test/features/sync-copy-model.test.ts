import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { Client } from '../../cli/api/client.ts'
import { Copy } from '../../cli/copy/copy.ts'
import { pullChanges, pushChanges } from '../../cli/copy/exchange.ts'
import type { Mutation, Row } from '../../cli/copy/mutation.ts'
import { applyPage, type Change, type Page, type Receipt } from '../../cli/copy/pages.ts'
import { AppError } from '../../src/errors.ts'
import { isShort } from '../support/thorough.ts'

/**
 * The copy of the command line against a small model of the server, with lost responses, cut pushes, changed rights, moves, deletions and
 * crashes. `sync.test.ts` shows the same rules with the real server.
 */

interface Stored extends Row {
  c: string
  version: number
  deleted: boolean
  f: string
  g: string
  tags: string[]
}
interface Judged extends Receipt {
  seq: number
  device: string
}

const text = JSON.stringify
const sorted = (tags: Iterable<string>) => [...new Set(tags)].sort()

/** Judges as the contract says: a value is taken where the stored one is what the user saw. */
class ModelServer {
  readonly records = new Map<string, Stored>()
  readonly log: { c: string; id: string; seq: number }[] = []
  seq = 0
  readonly rights: Record<string, Set<string>> = { u0: new Set(['A', 'B']), u1: new Set(['A', 'C']) }
  readonly receipts = new Map<string, Judged>()
  readonly conflicts: { id: string; fields: object }[] = []
  /** Every value that was ever stored. */
  readonly ever = new Set<string>()
  readonly cursors = new Map<string, { has: string[]; at: number }>()

  put(record: Stored, before?: string): void {
    this.records.set(record.id, record)
    for (const name of ['f', 'g'] as const) this.ever.add(`${record.id} ${record[name]}`)
    this.log.push({ c: record.c, id: record.id, seq: ++this.seq })
    if (before && before !== record.c) this.log.push({ c: before, id: record.id, seq: ++this.seq })
  }

  judge(user: string, device: string, mutation: Mutation): Receipt {
    const key = `${device} ${mutation.mutationId}`
    const known = this.receipts.get(key)
    if (known) return known
    const status = this.#status(user, mutation)
    const judged = { mutationId: mutation.mutationId, status, device, seq: ++this.seq }
    this.receipts.set(key, judged)
    return judged
  }

  #status(user: string, { id, op, fields = {}, base = {} }: Mutation): Receipt['status'] {
    const record = this.records.get(id)
    const may = this.rights[user] as Set<string>
    if (!record) {
      if (op === 'delete' || !may.has(String(fields.c))) return 'rejected'
      this.put({ id, version: 1, deleted: false, f: '', g: '', tags: [], ...fields } as unknown as Stored)
      return 'applied'
    }
    if (!may.has(record.c)) return 'rejected'
    if (record.deleted && op === 'delete') return 'merged'
    const isOther = ['f', 'g', 'tags'].some((name) => text(record[name]) !== text(base[name]))
    if (record.deleted || (op === 'delete' && isOther)) {
      this.conflicts.push({ id, fields })
      return 'conflict'
    }
    if (op === 'delete') this.put({ ...record, deleted: true, version: record.version + 1 })
    else return this.#merge(record, fields, base)
    return 'applied'
  }

  #merge(record: Stored, fields: Mutation['fields'], base: Mutation['base']): Receipt['status'] {
    const next = { ...record }
    const lost: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(fields)) {
      if (name === 'tags') {
        const [was, now] = [new Set((base.tags ?? []) as string[]), new Set(value as string[])]
        next.tags = sorted(new Set([...record.tags, ...now.difference(was)]).difference(was.difference(now)))
      } else if (text(record[name]) === text(base[name])) Object.assign(next, { [name]: value })
      else if (text(record[name]) !== text(value)) lost[name] = value
    }
    if (text(next) !== text(record)) this.put({ ...next, version: record.version + 1 })
    if (Object.keys(lost).length === 0) return 'applied'
    this.conflicts.push({ id: record.id, fields: lost })
    return 'conflict'
  }

  pull(user: string, device: string, cursor: string | null, limit: number): Page {
    const at = (cursor !== null && this.cursors.get(device + cursor)) || { has: [], at: this.seq }
    const may = [...(this.rights[user] as Set<string>)].sort()
    const gained = may.filter((c) => !at.has.includes(c))
    const whole = [...this.records.values()].filter(({ c, deleted }) => gained.includes(c) && !deleted)
    const rows = this.log.filter(({ c, seq }) => may.includes(c) && seq > at.at).sort((a, b) => a.seq - b.seq)
    const page = gained.length > 0 ? [] : rows.slice(0, limit)
    const hasMore = gained.length > 0 || page.length < rows.length
    const until = gained.length > 0 ? at.at : page.length < rows.length ? (page.at(-1)?.seq as number) : this.seq
    const name = String(this.cursors.size + 1)
    this.cursors.set(device + name, { has: may, at: until })
    const named = new Map([...whole, ...page].map(({ c, id }) => [c + id, { c, id }]))
    const changes = [...named.values()].map(({ c, id }): Change => {
      const record = this.records.get(id) as Stored
      const isThere = !record.deleted && record.c === c
      const { deleted: _, ...rest } = record
      return { entity: 'note', id, op: isThere ? 'put' : 'delete', container: c, version: record.version, record: rest }
    })
    const receipts = [...this.receipts.values()].filter(
      (one) => one.device === device && one.seq > at.at && one.seq <= until,
    )
    return { epoch: 'one', forget: at.has.filter((c) => !may.includes(c)), changes, receipts, cursor: name, hasMore }
  }
}

const folder = mkdtempSync(join(tmpdir(), 'tutti-copy-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
let files = 0

/** A device whose connection may fail: `cut` lets that many mutations through, `lose` drops the response. */
class Device extends Client {
  readonly path = join(folder, `${++files}.sqlite`)
  copy = new Copy({ server: '', userId: '' }, this.path)
  fault: { lose: boolean; cut: number; limit: number } = { lose: false, cut: -1, limit: 3 }

  constructor(
    readonly user: string,
    readonly name: string,
    private readonly model: ModelServer,
  ) {
    super('http://model.invalid')
    this.copy.set('deviceId', name)
  }

  override async request<T>(method: string, path: string, body?: object): Promise<T> {
    const { lose, cut, limit } = this.fault
    const lost = new AppError('unavailable', 'lost')
    if (method === 'POST') {
      const { mutations } = structuredClone(body) as { mutations: Mutation[] }
      const done = mutations.filter((_, i) => cut < 0 || i < cut)
      const receipts = done.map((mutation) => this.model.judge(this.user, this.name, mutation))
      if (lose || done.length < mutations.length) throw lost
      return { receipts } as T
    }
    const cursor = new URLSearchParams(path.split('?')[1]).get('cursor')
    const page = this.model.pull(this.user, this.name, cursor, limit)
    if (lose) throw lost
    return structuredClone(page) as T
  }

  /** Like kill -9 and a new process: only what is in the file remains. */
  restart(): void {
    this.copy.close()
    this.copy = new Copy({ server: '', userId: '' }, this.path)
  }

  get rows(): Row[] {
    return this.copy.list('note').sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}

const operations = ['f', 'g', 'tag', 'untag', 'create', 'delete', 'push', 'pull', 'rights', 'move', 'restart'] as const
const step = fc.tuple(
  fc.constantFrom(...operations, 'f', 'push', 'pull'),
  fc.nat(3),
  fc.nat(30),
  fc.nat(30),
  fc.boolean(),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const quiet = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (!(error instanceof AppError) || error.message !== 'lost') throw error
  })

interface Typed {
  device: Device
  id: string
  field: string
  value: string
}

async function play(model: ModelServer, devices: Device[], [what, which, a, b, lose]: Step, typed: Typed[]) {
  const device = devices[which] as Device
  const { copy, rows } = device
  const row = rows[a % Math.max(1, rows.length)]
  const value = `x${typed.length}`
  const note = (id: string, field: string) => void typed.push({ device, id, field, value })
  const tags = (row?.tags ?? []) as string[]
  if ((what === 'f' || what === 'g') && row) {
    copy.update('note', row.id, { [what]: value })
    note(row.id, what)
  } else if (what === 'tag' && row) copy.update('note', row.id, { tags: sorted([...tags, `t${a}`]) })
  else if (what === 'untag' && row) copy.update('note', row.id, { tags: tags.slice(1) })
  else if (what === 'create') {
    const c = [...(model.rights[device.user] as Set<string>)][b % 2]
    if (c) note(copy.create('note', { c, f: value, g: '', tags: [] }).id, 'f')
  } else if (what === 'delete' && row) copy.remove('note', row.id)
  else if (what === 'push') {
    device.fault = { lose, cut: b < 6 ? b : -1, limit: 3 }
    await quiet(pushChanges(copy, device))
  } else if (what === 'pull') {
    device.fault = { lose, cut: -1, limit: 1 + (b % 4) }
    await quiet(pullChanges(copy, device))
  } else if (what === 'restart') device.restart()
  else if (what === 'rights') {
    const rights = model.rights[`u${a % 2}`] as Set<string>
    const c = 'ABC'[b % 3] as string
    if (!rights.delete(c)) rights.add(c)
  } else if (what === 'move') {
    const there = [...model.records.values()].filter(({ deleted }) => !deleted)
    const moved = there[a % Math.max(1, there.length)]
    if (moved) model.put({ ...moved, c: 'ABC'[b % 3] as string, version: moved.version + 1 }, moved.c)
  }
}

/** Every value that somebody typed was stored once, is in a conflict, was rejected, or was typed over by themselves. */
function isLost(model: ModelServer, typed: Typed[], { device, id, field, value }: Typed, at: number): boolean {
  if (model.ever.has(`${id} ${value}`)) return false
  if (model.conflicts.some((one) => one.id === id && text(one.fields).includes(`"${value}"`))) return false
  if (typed.slice(at + 1).some((later) => later.device === device && later.id === id && later.field === field))
    return false
  const kept = device.copy.all<{ fields: string }>('select fields from rejected where id = ?', id)
  return !kept.some(({ fields }) => fields.includes(`"${value}"`))
}

test('copies converge and lose nothing, whatever gets lost in transit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      const model = new ModelServer()
      for (const [i, c] of ['A', 'A', 'B', 'C'].entries())
        model.put({ id: `r${i}`, c, version: 1, deleted: false, f: 'f0', g: 'g0', tags: ['t'] })
      const devices = [0, 1, 2, 3].map((i) => new Device(`u${i >> 1}`, `d${i}`, model))
      for (const device of devices) await pullChanges(device.copy, device)
      const typed: Typed[] = []
      for (const one of steps) await play(model, devices, one, typed)
      for (let round = 0; round < 2; round++)
        for (const device of devices) {
          device.fault = { lose: false, cut: -1, limit: 3 }
          await pushChanges(device.copy, device)
          await pullChanges(device.copy, device)
        }
      for (const { copy, user, rows } of devices) {
        const seen = [...model.records.values()]
          .filter(({ deleted, c }) => !deleted && model.rights[user]?.has(c))
          .map(({ deleted: _, ...row }) => row)
          .sort((a, b) => (a.id < b.id ? -1 : 1))
        expect(rows).toEqual(seen)
        expect(copy.queue()).toEqual([])
      }
      // A record that was created, changed and deleted before it was ever sent is gone, as its user wanted.
      const lost = typed.filter((one, i) => model.records.has(one.id) && isLost(model, typed, one, i))
      expect(lost.map(({ id, value }) => `${id} ${value}`)).toEqual([])
      for (const { copy } of devices) copy.delete()
    }),
    process.env.SOAK ? { numRuns: Number(process.env.HISTORIES ?? 6000) } : { numRuns: isShort ? 20 : 60, seed: 14 },
  )
}, 600_000)

test('records that a device must forget are removed from its disk', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'tutti-forget-')), 'copy.sqlite')
  const copy = new Copy({ server: '', userId: '' }, path)
  const page: Page = { epoch: 'e', forget: [], changes: [], receipts: [], cursor: 's1.a', hasMore: false }
  const record = { id: 'n', title: 'Hushed title', content: 'Hushed body '.repeat(20) }
  const change: Change = { entity: 'note', id: 'n', op: 'put', container: 'project:a', version: 1, record }
  applyPage(copy, { ...page, changes: [change] }, true)
  copy.close()
  expect(readFileSync(path).includes('Hushed')).toBe(true)
  const again = new Copy({ server: '', userId: '' }, path)
  applyPage(again, { ...page, forget: ['project:a'] }, false)
  again.close()
  expect(readFileSync(path).includes('Hushed')).toBe(false)
  rmSync(dirname(path), { recursive: true })
})
