import { recordNames } from '../../records/names.ts'
import { id, instant, object, oneOf, optional, pageOf, paging, type Static, text } from '../../schema.ts'

const type = oneOf(recordNames)
const kind = text(40, { pattern: '^[a-z][a-z0-9_-]*$', example: 'implements' })
const End = object({
  type,
  id: id(),
  title: text(300, { example: 'Lock the data folder' }),
  path: text(200, { example: '/tasks/TUT-42', description: 'Behind /api: where it is read' }),
})
export type End = Static<typeof End>

export const Link = object({ id: id(), createdAt: instant(), kind, from: End, to: End })
export type Link = Static<typeof Link>

export const LinkCreate = object({
  fromType: type,
  fromId: id(),
  toType: type,
  toId: id(),
  kind: optional(
    text(40, { pattern: kind.pattern as string, example: 'implements', description: 'relates unless told' }),
  ),
})
export type LinkCreate = Static<typeof LinkCreate>

export const LinkQuery = object({ type, id: id(), limit: paging().limit, cursor: paging().cursor })
export type LinkQuery = Static<typeof LinkQuery>
export const LinkPage = pageOf(Link)
export type LinkPage = Static<typeof LinkPage>
export const LinkRef = object({ id: id() })

/** As a record shows what it is linked with: the other end, and which way the link points. */
export const LinkedRecord = object({
  ...End.properties,
  kind: text(40, { example: 'implements' }),
  direction: oneOf(['to', 'from'], { description: 'to: this one points at it' }),
})
export type LinkedRecord = Static<typeof LinkedRecord>
