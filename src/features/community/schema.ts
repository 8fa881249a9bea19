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

const heading = title(200, { example: 'How we use skills' })
const content = title(20_480, { example: 'We keep one for **each review**.', description: 'Markdown' })
const reason = nullable(text(500, { example: 'It advertises something.' }))
const author = object({ handle: text(63, { example: 'ada' }), name: text(100, { example: 'Ada Lovelace' }) })
const status = oneOf(['visible', 'hidden'])

const postFields = { ...recordFields, title: heading, pinned: bool(), status, author }
const PublicItem = object(postFields)
export const CommunityPost = object({
  ...postFields,
  content,
  html: text(200_000, { example: '<p>We keep one for <strong>each review</strong>.</p>', description: 'Safe HTML' }),
})
export type CommunityPost = Static<typeof CommunityPost>
export const CommunityPage = pageOf(PublicItem)
export type CommunityPage = Static<typeof CommunityPage>
export const CommunityQuery = object({
  ...paging('createdAt'),
  pinned: optional(bool({ description: 'true: only pinned posts; false: only others' })),
})
export type CommunityQuery = Static<typeof CommunityQuery>

export const CommunityCreate = object({ title: heading, content })
export type CommunityCreate = Static<typeof CommunityCreate>
export const CommunityPatch = partial(CommunityCreate)
export type CommunityPatch = Static<typeof CommunityPatch>
export const CommunityReport = object({ reason: title(500, { example: 'It advertises something.' }) })
export type CommunityReport = Static<typeof CommunityReport>
export const Reported = object({ id: id(), reported: bool() })
export type Reported = Static<typeof Reported>

export const ModeratedPost = object({
  ...postFields,
  author: object({ id: id(), ...author.properties }),
  reason,
  reports: int({ example: 0, description: 'Users who reported it since an administrator looked at it' }),
})
export type ModeratedPost = Static<typeof ModeratedPost>
export const ModeratedPage = pageOf(ModeratedPost)
export type ModeratedPage = Static<typeof ModeratedPage>
export const ModeratedQuery = object({
  ...paging('createdAt'),
  search: optional(text(100, { example: 'skills', description: 'Only those whose title contains it' })),
  status: optional(status),
})
export type ModeratedQuery = Static<typeof ModeratedQuery>
export const ModeratedPatch = partial(object({ status, pinned: bool(), reason }))
export type ModeratedPatch = Static<typeof ModeratedPatch>
