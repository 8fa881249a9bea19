import { Type } from '@sinclair/typebox'
import {
  bool,
  id,
  int,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  partial,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'

const name = title(100, { example: 'Analytical Engines' })
const url = nullable(text(500, { pattern: '^https://[^\\s]+$', example: 'https://engines.example.com' }))
const description = nullable(text(300, { example: 'Engines since 1837.' }))
const tier = oneOf(['platinum', 'gold', 'silver', 'bronze'])
const position = int({ max: 10_000, example: 1, description: 'Order within the tier' })
const fields = {
  name,
  url,
  description,
  tier,
  position,
  active: bool({ description: 'Visitors see it' }),
  logoId: nullable(id({ description: 'A picture from `POST /api/admin/uploads`' })),
}

export const Sponsor = object({ ...recordFields, ...fields })
export type Sponsor = Static<typeof Sponsor>
export const SponsorPage = pageOf(Sponsor)
export type SponsorPage = Static<typeof SponsorPage>
export const SponsorQuery = object({
  ...paging('createdAt', 'updatedAt'),
  search: optional(text(100, { example: 'engines', description: 'Only those whose name contains it' })),
})
export type SponsorQuery = Static<typeof SponsorQuery>
export const SponsorCreate = object({ ...partial(object(fields)).properties, name })
export type SponsorCreate = Static<typeof SponsorCreate>
export const SponsorPatch = partial(object(fields))
export type SponsorPatch = Static<typeof SponsorPatch>

export const PublicSponsorList = object({
  items: Type.Array(
    object({ name, url, description, tier, logo: nullable(text(100, { example: '/uploads/5f0c2b9e-4f43' })) }),
  ),
})
export type PublicSponsorList = Static<typeof PublicSponsorList>
