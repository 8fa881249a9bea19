import { createHash } from 'node:crypto'
import type { Change, Mutation, Page, Pushed, Receipt, Registered, Sum } from '../../src/features/sync/schema.ts'
import type { Answer, Person } from './app.ts'
import type { Cut, Line } from './line.ts'

/**
 * The smallest client of sync that keeps its promises, as the manual describes them. Only pull changes the copy; a
 * mutation lies on top of it until its receipt comes by pull; no pull renews what the user saw.
 */

type Fields = Record<string, unknown>
export interface Copy {
  entity: string
  id: string
  container: string
  containers?: string[]
  version: number
  record: Fields
}
export interface Pending extends Mutation {
  fields: Fields
  base: Fields | null
  sent?: boolean
}

/** Fields that merge as sets, of the entities that tests change. */
const sets = new Set(['tags', 'labels'])

export class SyncClient {
  readonly copy = new Map<string, Copy>()
  pending: Pending[] = []
  readonly rejected: Pending[] = []
  readonly receipts: Receipt[] = []
  /** Ids of mutations that the server has decided on, whether or not the answer came back. */
  readonly answered = new Set<string>()
  cursor: string | undefined
  deviceId = ''
  limit: number | undefined

  constructor(
    readonly person: Person,
    readonly name: string,
    private readonly clock: () => string = () => new Date().toISOString(),
    /** The line that the person's requests take, if a test breaks it. */
    private readonly line?: Line,
  ) {}

  async register(only?: string[]): Promise<Registered> {
    const body = { name: this.name, platform: 'test', schema: '2026-11-16', ...(only && { only }) }
    const answer = await this.person.fetch<Registered>('POST', '/api/sync/devices/register', body)
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
    this.deviceId = answer.body.deviceId
    return answer.body
  }

  // ---- what the user sees and does

  /** Returns a record as the user sees it: the copy, with what is pending on top. */
  view(id: string): Fields | undefined {
    const copy = [...this.copy.values()].find((one) => one.id === id)
    let seen: Fields | undefined = copy && { ...copy.record }
    for (const mutation of this.pending) {
      if (mutation.id !== id) continue
      if (mutation.op === 'delete') seen = undefined
      else if (mutation.base === null) seen = { ...mutation.fields, id }
      else if (seen) seen = { ...seen, ...onTop(seen, mutation) }
    }
    return seen
  }

  ids(entity: string): string[] {
    const all = [...this.copy.values(), ...this.pending].filter((one) => one.entity === entity).map(({ id }) => id)
    return [...new Set(all)].filter((id) => this.view(id)).sort()
  }

  create(entity: string, fields: Fields, id = Bun.randomUUIDv7()): string {
    this.#queue({ entity, id, op: 'upsert', fields, base: null })
    return id
  }

  edit(entity: string, id: string, field: string, value: unknown): void {
    const seen = this.view(id)
    if (!seen) throw new Error(`${id} is not there`)
    const last = this.pending.findLast((one) => one.id === id)
    if (last && !last.sent && last.op === 'upsert') {
      if (last.base && !(field in last.base)) last.base[field] = seen[field] ?? null
      last.fields[field] = value
    } else this.#queue({ entity, id, op: 'upsert', fields: { [field]: value }, base: { [field]: seen[field] ?? null } })
  }

  remove(entity: string, id: string, fields: readonly string[]): void {
    const seen = this.view(id)
    if (!seen) throw new Error(`${id} is not there`)
    const base = Object.fromEntries(fields.map((field) => [field, hashed(seen[field] ?? null)]))
    this.#queue({ entity, id, op: 'delete', fields: {}, base })
  }

  #queue(mutation: Omit<Pending, 'mutationId' | 'at'>): void {
    this.pending.push({ mutationId: Bun.randomUUIDv7(), at: this.clock(), ...mutation })
  }

  // ---- the protocol

  /** Sends what is pending. `most`: only the first ones. `cut`: where the connection breaks. */
  async push({ most = 500, cut }: { most?: number; cut?: Cut } = {}): Promise<Receipt[]> {
    const batch = this.pending.slice(0, most)
    if (batch.length === 0) return []
    for (const mutation of batch) mutation.sent = true
    const mutations = batch.map(({ sent: _, ...mutation }) => mutation)
    const sending = () => this.person.fetch<Pushed>('POST', '/api/sync/push', { deviceId: this.deviceId, mutations })
    const answer = await this.#over(cut, sending)
    if (cut === 'response') for (const { mutationId } of batch) this.answered.add(mutationId)
    if (!answer) return []
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    for (const { mutationId } of answer.body.receipts) this.answered.add(mutationId)
    return answer.body.receipts
  }

  /** Returns the answer to a request, or undefined if the connection is to break meanwhile. */
  async #over<T>(cut: Cut | undefined, request: () => Promise<T>): Promise<T | undefined> {
    if (!cut) return request()
    if (!this.line) throw new Error('there is no line to break')
    this.line.breakNext(cut)
    const answer = await request().catch(() => undefined)
    if (answer) throw new Error('the connection did not break')
    return undefined
  }

  async ask(): Promise<Answer<Page>> {
    const query = new URLSearchParams({
      deviceId: this.deviceId,
      ...(this.cursor && { cursor: this.cursor }),
      ...(this.limit && { limit: String(this.limit) }),
    })
    return this.person.fetch<Page>('GET', `/api/sync/pull?${query}`)
  }

  /** Takes one page; starts over where the server says so. Returns whether there are more. */
  async pull({ cut }: { cut?: Cut } = {}): Promise<boolean> {
    const answer = await this.#over(cut, () => this.ask())
    if (!answer) return true
    if (answer.status === 410) {
      this.startOver()
      return true
    }
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    this.apply(answer.body)
    return answer.body.hasMore
  }

  async pullAll(): Promise<void> {
    while (await this.pull());
  }

  startOver(): void {
    this.copy.clear()
    this.cursor = undefined
    this.pending = this.pending.map((mutation) => ({ ...mutation, sent: true }))
  }

  apply(page: Page): void {
    for (const container of page.forget) this.#forget(container)
    for (const change of page.changes) {
      if (change.op === 'put') this.#put(change)
      else this.#drop(change)
    }
    for (const receipt of page.receipts) this.#settle(receipt)
    this.cursor = page.cursor
  }

  #put({ entity, id, container, containers, version = 1, record = {} }: Change): void {
    const there = this.copy.get(`${entity} ${id}`)
    if (there && there.version > version) return
    this.copy.set(`${entity} ${id}`, { entity, id, container, containers, version, record })
  }

  /** What left one container may have arrived in another already. */
  #drop({ entity, id, container }: Change): void {
    const there = this.copy.get(`${entity} ${id}`)
    if (!there || (there.container !== container && !there.containers?.includes(container))) return
    this.#remove(there)
  }

  /** Comments go with what they are about, links and dependencies with either end. */
  #remove({ entity, id }: Copy): void {
    this.copy.delete(`${entity} ${id}`)
    for (const [key, other] of this.copy) {
      const { taskId, decisionId, blockedById, fromId, toId } = other.record
      const hangs = ['comment', 'discussion', 'link', 'dependency'].includes(other.entity)
      if (hangs && [taskId, decisionId, blockedById, fromId, toId].includes(id)) this.copy.delete(key)
    }
  }

  #forget(container: string): void {
    for (const copy of [...this.copy.values()])
      if (copy.container === container || copy.containers?.includes(container)) this.#remove(copy)
  }

  #settle(receipt: Receipt): void {
    const found = this.pending.find(({ mutationId }) => mutationId === receipt.mutationId)
    if (!found) return
    this.receipts.push(receipt)
    if (receipt.status === 'rejected') this.rejected.push(found)
    this.pending = this.pending.filter((one) => one !== found)
  }

  // ---- for comparisons

  /** Returns the copy in a fixed order. */
  all(): Copy[] {
    return [...this.copy.values()].sort((a, b) => (`${a.entity} ${a.id}` < `${b.entity} ${b.id}` ? -1 : 1))
  }

  /** Returns count and sum of each container, as `check` does. */
  sums(): Map<string, { count: number; sum: number }> {
    const sums = new Map<string, { count: number; sum: number }>()
    for (const { id, version, container, containers = [container] } of this.copy.values())
      for (const one of containers) {
        const { count, sum } = sums.get(one) ?? { count: 0, sum: 0 }
        sums.set(one, { count: count + 1, sum: sum + bits(`${id}:${version}`) })
      }
    return sums
  }

  /** Returns the containers whose sums differ from those of the server. */
  differing(check: readonly Sum[]): string[] {
    const own = this.sums()
    return check
      .filter(({ container, count, sum }) => {
        const mine = own.get(container) ?? { count: 0, sum: 0 }
        return mine.count !== count || mine.sum !== sum
      })
      .map(({ container }) => container)
  }
}

const bits = (text: string): number => createHash('md5').update(text).digest().readUInt32BE(0)

const hashed = (value: unknown): unknown =>
  typeof value === 'string' && value.length > 200
    ? { $sha256: createHash('sha256').update(value).digest('hex') }
    : value

/** Returns the fields of a mutation as they look on top of what is there. */
function onTop(seen: Fields, { fields, base }: Pending): Fields {
  const result: Fields = { ...fields }
  for (const [field, value] of Object.entries(fields)) {
    if (!sets.has(field)) continue
    const [before, after, now] = [base?.[field], value, seen[field]].map((list) => (list ?? []) as string[])
    const removed = (before ?? []).filter((one) => !after?.includes(one))
    const added = (after ?? []).filter((one) => !before?.includes(one))
    result[field] = [...new Set([...(now ?? []), ...added])].filter((one) => !removed.includes(one))
  }
  return result
}
