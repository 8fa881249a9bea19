import { combineSets, hashOfText } from '../../src/features/sync/merge.ts'

/** A record as the server sends it: only its own columns. */
export type Row = Record<string, unknown> & { id: string }

export type Fields = Record<string, unknown>

/** A change that the user made on this device. `base` is what they saw in the fields that they changed. */
export interface Mutation {
  mutationId: string
  entity: string
  id: string
  op: 'upsert' | 'delete'
  fields: Fields
  base: Fields
  at: string
  /** The MCP token whose rights it was made with. */
  via?: string
}

/** `acked`: the server has judged it, but no pull has brought the receipt yet. */
export type State = 'new' | 'sent' | 'acked'

export interface Queued extends Mutation {
  seq: number
  state: State
  /** Whether the record began with this change. */
  creates: boolean
}

/** Returns a change in the form of the API. A new record has no base. */
export const toWire = ({ mutationId, entity, id, op, fields, base, at, via, creates }: Queued): object => ({
  mutationId,
  entity,
  id,
  op,
  ...(op === 'upsert' && { fields }),
  ...(!creates && { base }),
  at,
  ...(via && { via }),
})

/** Fields that the server merges as sets. */
const sets = new Set(['labels', 'tags', 'skills'])

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Returns the record with the change applied; undefined if the change deletes it, or the record does not exist. */
export function applyMutation(row: Row | undefined, { id, op, fields, base, at, creates }: Queued): Row | undefined {
  if (op === 'delete') return undefined
  if (!row && !creates) return undefined
  const next: Row = row ? { ...row } : { id, createdAt: at, version: 0 }
  for (const [name, value] of Object.entries(fields))
    next[name] = sets.has(name) && row ? combineSets(listOf(base[name]), listOf(row[name]), listOf(value)) : value
  return { ...next, updatedAt: at }
}

export const isSame = (a: unknown, b: unknown): boolean => Bun.deepEquals(a, b)

/** A text that is longer than this travels as its hash in the base of a deletion. */
const LONG = 1000

/** What the user saw of a record that they delete. */
export function baseOfDelete(row: Row): Fields {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > LONG ? hashOfText(value) : value,
    ]),
  )
}
