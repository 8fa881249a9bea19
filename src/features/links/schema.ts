import { Type } from '@sinclair/typebox'
import { id, instant, nullable, object, oneOf, optional, type Static, text, title } from '../../schema.ts'

export const linked = ['project', 'task', 'feature', 'note', 'decision', 'spec', 'memory', 'session', 'agent', 'skill'] as const
export type Linked = (typeof linked)[number]

const End = object({ type: oneOf(linked), id: id(), title: nullable(text(300, { example: 'Lock the data folder' })) })
export const Link = object({
  id: id(),
  createdAt: instant(),
  kind: text(50, { example: 'implements' }),
  from: End,
  to: End,
})
export type Link = Static<typeof Link>
export const LinkCreate = object({
  fromType: oneOf(linked),
  fromId: id(),
  toType: oneOf(linked),
  toId: id(),
  kind: optional(title(50, { description: 'relates unless told', example: 'implements' })),
})
export type LinkCreate = Static<typeof LinkCreate>
export const LinkQuery = object({ type: oneOf(linked), id: id() })
export type LinkQuery = Static<typeof LinkQuery>
export const LinkList = object({ items: Type.Array(Link), nextCursor: nullable(text(10)) })
export type LinkList = Static<typeof LinkList>
export const LinkRemove = object({ id: id() })
