import { AppError } from '../errors.ts'
import type { RecordKind, Records, Resource } from '../records/kind.ts'
import { named } from '../text/quoted.ts'

export type Fields = Record<string, unknown>

/** The address of the caller's open tasks. Subscribers are notified of every change to one of them. */
export const MINE = 'tutti://me'

interface Address<C> {
  record: RecordKind<C>
  resource: Resource<C>
  noun: string
  ref: string
}

const address = /^tutti:\/\/([a-z]+)\/([^/?#]{1,300})$/

/** Returns which record an address such as `tutti://task/TUT-42` names. Undefined if no kind has such addresses. */
export function parse<C>(records: Records<C>, uri: string): Address<C> | undefined {
  const [, noun = '', ref = ''] = address.exec(uri) ?? []
  const record = records.find(noun)
  try {
    return record?.resource && { record, resource: record.resource, noun, ref: decodeURIComponent(ref) }
  } catch {
    return undefined
  }
}

/** Returns the name for people: its key or slug, else its id. */
export const handle = (record: object): string => {
  const { key, slug, id } = record as Fields
  return String(key ?? slug ?? id)
}
export const uriOf = (noun: string, record: object): string => `tutti://${noun}/${encodeURIComponent(handle(record))}`
/** Returns the key and the title, quoted unless it is as plain as a name. */
export const titleOf = (record: object): string => {
  const { key, title, name, goals } = record as Fields
  const words = textOf(title ?? name ?? (Array.isArray(goals) ? goals[0] : undefined))
  return [textOf(key), words && named(words)].filter(Boolean).join(' ') || handle(record)
}
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export const isGone = (error: unknown): boolean => error instanceof AppError && error.status === 404
