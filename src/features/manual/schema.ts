import { Type } from '@sinclair/typebox'
import { object, type Static, text } from '../../schema.ts'

export const ManualItem = object({
  id: text(63, { example: 'start' }),
  title: text(200, { example: 'First five minutes' }),
})
export const ManualPage = object({ ...ManualItem.properties, content: Type.String({ description: 'Markdown' }) })
export type ManualPage = Static<typeof ManualPage>
export const ManualList = object({ items: Type.Array(ManualItem), nextCursor: Type.Null() })
export type ManualList = Static<typeof ManualList>
