import { Type } from '@sinclair/typebox'
import {
  array,
  bool,
  id,
  instant,
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
  time,
  title,
} from '../../schema.ts'

/** Bytes of a body with a text of 256 KiB, in JSON. */
export const TEXT_BODY = 2 << 20

const heading = title(200, { example: 'How we deploy' })
const slug = text(80, {
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  example: 'how-we-deploy',
  description: 'Part of the address. Default: made from the title',
})
const content = text(262_144, { example: 'We deploy **twice a day**.', description: 'Markdown' })
const description = nullable(text(300, { example: 'What happens between a commit and its users.' }))
const excerpt = nullable(text(500, { example: 'Twice a day, without anyone waiting.' }))
const status = oneOf(['draft', 'published'])
const tags = array(title(40, { example: 'operations' }), 20, { uniqueItems: true })
const coverId = nullable(id({ description: 'A picture from `POST /api/admin/uploads`' }))
const coverAlt = nullable(text(300, { example: 'Two people at a desk', description: 'Alternative text of the cover' }))
const publishedAt = nullable(time({ description: 'A later time schedules it. Default, once published: now' }))
const position = int({ max: 10_000, example: 1, description: 'Order of the pages in the head of the site' })

const common = { title: heading, slug, description, status, coverId, coverAlt }
const ofPage = { nav: bool({ description: 'Linked from the head of every page' }), position }
const ofPost = { excerpt, categoryId: nullable(id()), tags }
const read = { ...recordFields, ...common, publishedAt: nullable(instant()) }
const live = bool({ description: 'Visitors see it now' })

export const Page = object({ ...read, ...ofPage, live, content })
export type Page = Static<typeof Page>
const PageItem = object({ ...read, ...ofPage, live })
export const PagePage = pageOf(PageItem)
export type PagePage = Static<typeof PagePage>
const pageInput = { ...common, publishedAt, ...ofPage, content }
export const PageCreate = object({ ...partial(object(pageInput)).properties, title: heading })
export type PageCreate = Static<typeof PageCreate>
export const PagePatch = partial(object(pageInput))
export type PagePatch = Static<typeof PagePatch>

export const Post = object({ ...read, ...ofPost, live, content })
export type Post = Static<typeof Post>
const PostItem = object({ ...read, ...ofPost, live })
export const PostPage = pageOf(PostItem)
export type PostPage = Static<typeof PostPage>
const postInput = { ...common, publishedAt, ...ofPost, content }
export const PostCreate = object({ ...partial(object(postInput)).properties, title: heading })
export type PostCreate = Static<typeof PostCreate>
export const PostPatch = partial(object(postInput))
export type PostPatch = Static<typeof PostPatch>

const search = optional(text(100, { example: 'deploy', description: 'Only those whose title contains it' }))
const filters = {
  ...paging('updatedAt', 'createdAt'),
  search,
  status: optional(status),
  slug: optional(text(80, { example: 'how-we-deploy', description: 'Only the one with this slug' })),
  deleted: optional(
    bool({ description: 'true: list those deleted in the last 30 days instead, which can be restored' }),
  ),
}
export const PageQuery = object(filters)
export type PageQuery = Static<typeof PageQuery>
export const PostQuery = object({ ...filters, categoryId: optional(id()) })
export type PostQuery = Static<typeof PostQuery>

const name = title(60, { example: 'Operations' })
export const Category = object({
  ...recordFields,
  name,
  slug,
  description,
  posts: int({ example: 3, description: 'Its posts, drafts included' }),
})
export type Category = Static<typeof Category>
export const CategoryList = object({ items: Type.Array(Category) })
export type CategoryList = Static<typeof CategoryList>
export const CategoryCreate = object({ name, slug: optional(slug), description: optional(description) })
export type CategoryCreate = Static<typeof CategoryCreate>
export const CategoryPatch = partial(object({ name, slug, description }))
export type CategoryPatch = Static<typeof CategoryPatch>

// ---- what visitors read

const picture = nullable(text(100, { example: '/uploads/5f0c2b9e-4f43-4e5e-9d1c-0f6f0a7b1c2d' }))
const shown = {
  title: heading,
  slug,
  description,
  publishedAt: instant(),
  updatedAt: instant(),
  cover: picture,
  coverAlt,
}
const html = text(1_000_000, { example: '<p>We deploy <strong>twice a day</strong>.</p>', description: 'Safe HTML' })
const category = nullable(object({ name, slug }))

export const PublicPage = object({ ...shown, content, html })
export type PublicPage = Static<typeof PublicPage>
const PublicPostItem = object({ ...shown, excerpt, category, tags })
export type PublicPostItem = Static<typeof PublicPostItem>
export const PublicPost = object({ ...shown, excerpt, category, tags, content, html })
export type PublicPost = Static<typeof PublicPost>
export const PublicPostPage = pageOf(PublicPostItem)
export type PublicPostPage = Static<typeof PublicPostPage>
export const PublicPostQuery = object({
  ...paging('publishedAt'),
  category: optional(text(80, { example: 'operations', description: 'Slug of a category' })),
  tag: optional(text(40, { example: 'operations' })),
})
export type PublicPostQuery = Static<typeof PublicPostQuery>
export const PublicCategoryList = object({
  items: Type.Array(object({ name, slug, description, posts: int({ example: 3 }) })),
})
export type PublicCategoryList = Static<typeof PublicCategoryList>
export const BySlug = object({ slug: text(200, { example: 'how-we-deploy' }) })

export const Sitemap = object({
  url: text(2000, { example: 'https://tutti.example.com/sitemap.xml' }),
  urls: int({ example: 12, description: 'Addresses in it' }),
  indexed: bool({ description: 'Search engines may list them' }),
})
export type Sitemap = Static<typeof Sitemap>
