import { AppError } from '../errors.ts'
import type { RecordKind, Records, Resource } from '../records/kind.ts'
import { quoteName } from '../text/quoting.ts'

export type Fields = Record<string, unknown>

/** The address of the caller's open tasks. Subscribers are notified of every change to one of them. */
export const OWN_TASKS_URI = 'tutti://me'

interface Address<C> {
  record: RecordKind<C>
  resource: Resource<C>
  noun: string
  ref: string
}

const address = /^tutti:\/\/([a-z]+)\/([^/?#]{1,300})$/

/** Returns which record an address such as `tutti://task/TUT-42` names. Undefined if no kind has such addresses. */
export function parseUri<C>(records: Records<C>, uri: string): Address<C> | undefined {
  const [, noun = '', ref = ''] = address.exec(uri) ?? []
  const record = records.find(noun)
  try {
    return record?.resource && { record, resource: record.resource, noun, ref: decodeURIComponent(ref) }
  } catch {
    return undefined
  }
}

/** Returns the name for people: its key or slug, else its id. */
export const recordHandle = (record: object): string => {
  const { key, slug, id } = record as Fields
  return String(key ?? slug ?? id)
}
export const uriOf = (noun: string, record: object): string =>
  `tutti://${noun}/${encodeURIComponent(recordHandle(record))}`
/** Returns the key and the title, quoted unless it is as plain as a name. */
export const titleOf = (record: object): string => {
  const { key, title, name, goals } = record as Fields
  const words = textOf(title ?? name ?? (Array.isArray(goals) ? goals[0] : undefined))
  return [textOf(key), words && quoteName(words)].filter(Boolean).join(' ') || recordHandle(record)
}
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export const isNotFound = (error: unknown): boolean => error instanceof AppError && error.status === 404
