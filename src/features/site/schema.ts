import { Type } from '@sinclair/typebox'
import { publicNames } from '../../records/names.ts'
import { instant, int, nullable, object, oneOf, optional, type Static, text } from '../../schema.ts'
import { Part, q } from '../search/schema.ts'

export const publicKinds = ['doc', ...publicNames, 'profile', 'page', 'post', 'community', 'manual'] as const
export const PublicFound = object({
  kind: oneOf(publicKinds),
  title: text(500, { example: 'How we deploy' }),
  path: text(400, {
    example: '/api/notes/public/how-we-deploy-x7k2p9',
    description: 'Path to read it. A profile and a section of the manual are pages, the others are JSON',
  }),
  author: nullable(object({ handle: text(63, { example: 'ada' }), name: text(100, { example: 'Ada Lovelace' }) })),
  updatedAt: nullable(instant()),
  highlight: object({ title: Type.Array(Part), text: Type.Array(Part) }),
})
export type PublicFound = Static<typeof PublicFound>
export const PublicFoundList = object({ items: Type.Array(PublicFound), nextCursor: Type.Null() })
export type PublicFoundList = Static<typeof PublicFoundList>
export const PublicFindQuery = object({
  q: optional(q),
  kinds: optional(
    text(100, {
      pattern: `^(${publicKinds.join('|')})(,(${publicKinds.join('|')}))*$`,
      example: 'doc,note',
      description: `Only these, separated by commas: ${publicKinds.join(', ')}`,
    }),
  ),
  limit: optional(int({ min: 1, max: 50, description: 'Default: 20' })),
})
export type PublicFindQuery = Static<typeof PublicFindQuery>
