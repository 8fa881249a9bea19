import { recordNames } from '../../records/names.ts'
import { id, instant, object, oneOf, optional, pageOf, paging, type Static, text } from '../../schema.ts'

const type = oneOf(recordNames)
const kind = text(40, { pattern: '^[a-z][a-z0-9_-]*$', example: 'implements' })
const End = object({
  type,
  id: id(),
  title: text(300, { example: 'Lock the data folder' }),
  path: text(200, { example: '/tasks/TUT-42', description: 'Path of the record, after /api' }),
})
export type End = Static<typeof End>

export const Link = object({ id: id(), createdAt: instant(), kind, from: End, to: End })
export type Link = Static<typeof Link>

export const LinkCreate = object({
  fromType: type,
  fromId: id(),
  toType: type,
  toId: id(),
  kind: optional(text(40, { pattern: kind.pattern as string, example: 'implements', description: 'Default: relates' })),
})
export type LinkCreate = Static<typeof LinkCreate>

export const LinkQuery = object({ type, id: id(), limit: paging().limit, cursor: paging().cursor })
export type LinkQuery = Static<typeof LinkQuery>
export const LinkPage = pageOf(Link)
export type LinkPage = Static<typeof LinkPage>
export const LinkRef = object({ id: id() })

/** A link as a record shows it: the other end, and the direction. */
export const LinkedRecord = object({
  ...End.properties,
  kind: text(40, { example: 'implements' }),
  direction: oneOf(['to', 'from'], { description: 'to: this record points to it' }),
})
export type LinkedRecord = Static<typeof LinkedRecord>
