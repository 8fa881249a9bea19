import { Type } from '@sinclair/typebox'
import { marketNames } from '../../records/names.ts'
import { bool, id, instant, int, nullable, object, oneOf, optional, type Static, text, title } from '../../schema.ts'

const kind = oneOf(marketNames)
const reason = nullable(text(500, { example: 'It copies the work of someone else.' }))
const author = nullable(object({ handle: text(63, { example: 'ada' }), name: text(100, { example: 'Ada Lovelace' }) }))
const itemFields = {
  kind,
  id: id(),
  name: text(200, { example: 'Review a migration' }),
  slug: text(100, { example: 'review-a-migration' }),
  description: nullable(text(2000, { example: 'What to look at before a migration is merged.' })),
  author,
  uses: int({ example: 3, description: 'For a skill: agents that use it, plus calls of get_skill by other teams' }),
  updatedAt: instant(),
}

const paging = {
  search: optional(text(100, { example: 'review', description: 'Only those whose name contains it' })),
  kind: optional(kind),
  limit: optional(int({ min: 1, max: 200, description: 'Page size (default: 50)' })),
  cursor: optional(text(2000, { description: '`nextCursor` of the previous page' })),
}
export const MarketplaceQuery = object(paging)
export type MarketplaceQuery = Static<typeof MarketplaceQuery>
const MarketplaceItem = object(itemFields)
export const MarketplacePage = object({ items: Type.Array(MarketplaceItem), nextCursor: nullable(Type.String()) })
export type MarketplacePage = Static<typeof MarketplacePage>

export const ModeratedItem = object({
  ...itemFields,
  reports: int({ example: 0, description: 'Users who reported it' }),
  hidden: bool(),
  reason,
})
export type ModeratedItem = Static<typeof ModeratedItem>
export const ModeratedItemPage = object({ items: Type.Array(ModeratedItem), nextCursor: nullable(Type.String()) })
export type ModeratedItemPage = Static<typeof ModeratedItemPage>
export const ModeratedItemQuery = object({ ...paging, hidden: optional(bool()) })
export type ModeratedItemQuery = Static<typeof ModeratedItemQuery>

export const ByItem = object({ kind, id: id() })
export type ByItem = Static<typeof ByItem>
export const Hide = object({ hidden: bool(), reason: optional(reason) })
export type Hide = Static<typeof Hide>
export const Report = object({ reason: title(500, { example: 'It copies the work of someone else.' }) })
export type Report = Static<typeof Report>
export const ReportMade = object({ id: id(), reported: bool() })
export type ReportMade = Static<typeof ReportMade>
