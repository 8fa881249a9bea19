import { queryOptions } from '@tanstack/react-query'
import type { CommunityCreate, ModeratedPatch } from '../../../features/community/schema.ts'
import type { ContactPatch } from '../../../features/contact/schema.ts'
import type { CategoryCreate, Page, PagePatch, Post, PostPatch } from '../../../features/site/content-schema.ts'
import type { SponsorCreate, SponsorPatch } from '../../../features/sponsors/schema.ts'
import type { MarketName } from '../../../records/names.ts'
import { community, contact, marketplace, ok, settings, site, sponsors, tracker, writeOptions } from '../../api.ts'
import { adminList } from '../admin/queries.ts'

export type SiteTextKind = 'pages' | 'posts'
type Versioned = { id: string; version: number }

// ---- pages, posts, categories

/** What lists of pages and of posts have in common. */
type Listed = Pick<Page & Post, 'id' | 'version' | 'title' | 'slug' | 'status' | 'live' | 'updatedAt'>
interface Paging {
  limit: number
  cursor?: string
  search?: string
  deleted?: boolean
}
type ListedPage = Promise<{ items: Listed[]; nextCursor: string | null }>

const listOf: Record<SiteTextKind, (query: Paging) => ListedPage> = {
  pages: (query) => ok(site.admin.pages.get({ query })),
  posts: (query) => ok(site.admin.posts.get({ query })),
}
const readOf: Record<SiteTextKind, (id: string) => Promise<Page | Post>> = {
  pages: (id) => ok(site.admin.pages({ id }).get()),
  posts: (id) => ok(site.admin.posts({ id }).get()),
}

/** `deleted`: those that can be restored instead. */
export const textsQuery = (kind: SiteTextKind, search: string, deleted: boolean) =>
  adminList(['texts', kind, search, String(deleted)], (paging) =>
    listOf[kind]({ ...paging, ...(search && { search }), ...(deleted && { deleted }) }),
  )
export const textQuery = (kind: SiteTextKind, id: string) =>
  queryOptions({ queryKey: ['admin', 'text', id], queryFn: () => readOf[kind](id), staleTime: 0 })
export const categoriesQuery = queryOptions({
  queryKey: ['admin', 'categories'],
  queryFn: () => ok(site.admin.categories.get()),
})

interface Saving {
  kind: SiteTextKind
  /** Without one, the text is new. */
  saved?: Versioned
  fields: PagePatch & PostPatch & { title: string }
}
export function saveText({ kind, saved, fields }: Saving): Promise<Page | Post> {
  const { admin } = site
  if (!saved)
    return kind === 'pages'
      ? ok(admin.pages.post(fields, writeOptions()))
      : ok(admin.posts.post(fields, writeOptions()))
  const { id, version } = saved
  return kind === 'pages'
    ? ok(admin.pages({ id }).put(fields, writeOptions(version)))
    : ok(admin.posts({ id }).put(fields, writeOptions(version)))
}
export const removeText = ({ kind, id, version }: Versioned & { kind: SiteTextKind }) =>
  ok(site.admin[kind]({ id }).delete(undefined, writeOptions(version)))
export const restoreText = ({ kind, id, version }: Versioned & { kind: SiteTextKind }): Promise<Page | Post> =>
  kind === 'pages'
    ? ok(site.admin.pages({ id }).restore.post(undefined, writeOptions(version)))
    : ok(site.admin.posts({ id }).restore.post(undefined, writeOptions(version)))
export const createCategory = (input: CategoryCreate) => ok(site.admin.categories.post(input, writeOptions()))
export const removeCategory = ({ id, version }: Versioned) =>
  ok(site.admin.categories({ id }).delete(undefined, writeOptions(version)))

// ---- what visitors and users send

export const contactQuery = (spam: boolean) =>
  adminList(['contact', String(spam)], (paging) => ok(contact.admin.contact.get({ query: { ...paging, spam } })))
export const changeMessage = ({ id, ...patch }: ContactPatch & { id: string }) =>
  ok(contact.admin.contact({ id }).patch(patch, writeOptions()))
export const removeMessage = (id: string) => ok(contact.admin.contact({ id }).delete(undefined, writeOptions()))

export const communityQuery = (status: 'visible' | 'hidden') =>
  adminList(['community', status], (paging) =>
    ok(community.admin.community.posts.get({ query: { ...paging, status } })),
  )
export const moderatePost = ({ id, ...patch }: ModeratedPatch & { id: string }) =>
  ok(community.admin.community.posts({ id }).patch(patch, writeOptions()))
export const removePost = (id: string) => ok(community.admin.community.posts({ id }).delete(undefined, writeOptions()))

export const marketplaceQuery = (search: string) =>
  adminList(['marketplace', search], (paging) =>
    ok(marketplace.admin.marketplace.get({ query: { ...paging, ...(search && { search }) } })),
  )
interface Hiding {
  kind: MarketName
  id: string
  hidden: boolean
  reason: string | null
}
export const setItemHidden = ({ kind, id, ...body }: Hiding) =>
  ok(marketplace.admin.marketplace({ kind })({ id }).patch(body, writeOptions()))

// ---- sponsors, tracker

export const sponsorsQuery = adminList(['sponsors'], (paging) => ok(sponsors.admin.sponsors.get({ query: paging })))
export const saveSponsor = ({ saved, ...fields }: SponsorCreate & { saved?: Versioned }) =>
  saved
    ? ok(sponsors.admin.sponsors({ id: saved.id }).put(fields satisfies SponsorPatch, writeOptions(saved.version)))
    : ok(sponsors.admin.sponsors.post(fields, writeOptions()))
export const removeSponsor = (id: string) => ok(sponsors.admin.sponsors({ id }).delete(undefined, writeOptions()))

export const reposQuery = queryOptions({
  queryKey: ['admin', 'tracker'],
  queryFn: () => ok(tracker.admin.github.repos.get({ query: {} })),
})
export const trackedIssuesQuery = (state: 'open' | 'closed') =>
  adminList(['tracked', state], (paging) => ok(tracker.admin.github.issues.get({ query: { ...paging, state } })))
export const mirrorIssues = (_: undefined) => ok(tracker.admin.github.sync.post({}, writeOptions()))

// ---- settings of the instance

export const settingsQuery = queryOptions({
  queryKey: ['admin', 'settings'],
  queryFn: () => ok(settings.admin.settings.get()),
})
export const changeSetting = ({
  key,
  patch,
  version,
}: {
  key: string
  patch: Record<string, unknown>
  version: number
}) => ok(settings.admin.settings({ key }).patch(patch, writeOptions(version)))
export const testMail = (to: string) => ok(settings.admin.settings['test-email'].post(to ? { to } : {}, writeOptions()))

// ---- posts of the community, for their authors and readers

export const communityPostQuery = (id: string) =>
  queryOptions({ queryKey: ['community', id], queryFn: () => ok(community.public.community.posts({ id }).get()) })
export const writePost = (input: CommunityCreate) => ok(community.community.posts.post(input, writeOptions()))
export const editPost = ({ id, version, ...patch }: CommunityCreate & Versioned) =>
  ok(community.community.posts({ id }).patch(patch, writeOptions(version)))
export const deleteOwnPost = (id: string) => ok(community.community.posts({ id }).delete(undefined, writeOptions()))
export const reportPost = ({ id, reason }: { id: string; reason: string }) =>
  ok(community.community.posts({ id }).report.post({ reason }, writeOptions()))
