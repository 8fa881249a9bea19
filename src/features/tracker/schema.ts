import { Type } from '@sinclair/typebox'
import {
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
  type Static,
  text,
} from '../../schema.ts'

const repo = text(200, { pattern: '^[\\w.-]+/[\\w./-]+$', example: 'tutti/tutti' })
const url = text(500, { example: 'https://github.com/tutti/tutti' })
const state = oneOf(['open', 'closed'])
const error = nullable(text(500, { example: 'github.com did not respond in time. Try again later.' }))

export const TrackedRepository = object({
  repo,
  url,
  tracked: bool({ description: 'The setting names it' }),
  open: int({ example: 3, description: 'Mirrored issues that are open' }),
  closed: int({ example: 12 }),
  syncedAt: nullable(instant()),
  error,
})
export type TrackedRepository = Static<typeof TrackedRepository>
export const TrackedRepositoryList = object({ items: Type.Array(TrackedRepository) })
export type TrackedRepositoryList = Static<typeof TrackedRepositoryList>
export const TrackedRepositoryQuery = object({
  available: optional(
    oneOf(['1', 'true', '0', 'false'], {
      description: '1 or true: instead those that the token can read',
      example: '1',
    }),
  ),
})
export type TrackedRepositoryQuery = Static<typeof TrackedRepositoryQuery>

const TrackedIssue = object({
  id: id(),
  repo,
  number: int({ min: 1, example: 42 }),
  title: text(500, { example: 'Search finds nothing' }),
  state,
  labels: Type.Array(text(100, { example: 'bug' })),
  author: nullable(text(100, { example: 'ada' })),
  url,
  updatedAt: instant(),
})
export const TrackedIssuePage = pageOf(TrackedIssue)
export type TrackedIssuePage = Static<typeof TrackedIssuePage>
export const TrackedIssueQuery = object({
  ...paging('updatedAt'),
  repo: optional(repo),
  state: optional(state),
  search: optional(text(100, { example: 'search', description: 'Only those whose title contains it' })),
})
export type TrackedIssueQuery = Static<typeof TrackedIssueQuery>

export const TrackerSync = object({ repo: optional(repo) })
export type TrackerSync = Static<typeof TrackerSync>
export const TrackerSynced = object({
  items: Type.Array(object({ repo, added: int({ example: 2 }), changed: int({ example: 1 }), error })),
})
export type TrackerSynced = Static<typeof TrackerSynced>
