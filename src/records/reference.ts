import { AppError } from '../errors.ts'

/** How people and agents refer to a record. The server and the copy on a user's computer share these rules. */

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const idPrefix = /^[0-9a-f]{8}[0-9a-f-]{0,27}$/

/** Whether a reference is a whole id. */
export const isId = (ref: string): boolean => uuid.test(ref.trim().toLowerCase())

/** Whether a reference can be the beginning of an id. */
export const isIdPrefix = (ref: string): boolean => idPrefix.test(ref.trim().toLowerCase())

export interface Candidate {
  id: string
  title?: string | null
  name?: string
}

const idAndName = ({ id, title, name }: Candidate): string =>
  title || name ? `${id} ${JSON.stringify(title || name)}` : id

/** Returns the error for a prefix that several ids begin with, of which two are named. */
export const ambiguousPrefix = (prefix: string, one: Candidate, other: Candidate): AppError =>
  new AppError(
    'not_found',
    `Several ids begin with ${prefix}, such as ${idAndName(one)} and ${idAndName(other)}. Use a longer one.`,
  )
