import { Type } from '@sinclair/typebox'
import { nullable, object, type Static, text } from '../../schema.ts'

export const ManualItem = object({
  id: text(63, { example: 'start' }),
  title: text(200, { example: 'First five minutes' }),
  group: text(63, { example: 'Begin', description: 'The part of the manual that it belongs to' }),
  about: text(200, { example: 'Start the server, sign in, connect an agent', description: 'What it is about' }),
})
export type ManualItem = Static<typeof ManualItem>
export const ManualPage = object({ ...ManualItem.properties, content: Type.String({ description: 'Markdown' }) })
export type ManualPage = Static<typeof ManualPage>
export const ManualList = object({ items: Type.Array(ManualItem), nextCursor: Type.Null() })
export type ManualList = Static<typeof ManualList>

export const ManualSearch = object({ q: text(100, { minLength: 1, example: 'claim' }) })
export type ManualSearch = Static<typeof ManualSearch>
export const ManualHit = object({
  id: text(63, { example: 'tasks' }),
  title: text(200, { example: 'Tasks' }),
  heading: nullable(text(200, { example: 'Claims' })),
  anchor: nullable(text(200, { example: 'claims', description: 'Follows # in the address of the page' })),
  excerpt: text(400, { example: 'A claimed task belongs to its worker …' }),
})
export type ManualHit = Static<typeof ManualHit>
export const ManualHits = object({ items: Type.Array(ManualHit), nextCursor: Type.Null() })
export type ManualHits = Static<typeof ManualHits>
