import { Type } from '@sinclair/typebox'
import { branch, Commit, codeHosts, Hosted, Pull, sha } from '../../outside/codehosts/schema.ts'
import {
  array,
  bool,
  id,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  permissions,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'
import { projectFilter } from '../projects/schema.ts'

const statuses = ['pending', 'syncing', 'ready', 'error'] as const
export type Status = (typeof statuses)[number]

const item = {
  ...recordFields,
  organizationId: id(),
  projectId: nullable(id()),
  createdById: nullable(id()),
  ...Hosted.properties,
  commitSha: nullable(sha),
  language: nullable(text(50, { example: 'TypeScript' })),
  topics: Type.Array(text(50, { example: 'agents' })),
  status: oneOf(statuses),
  syncedAt: nullable(instant()),
  error: nullable(text(500, { description: 'Why the last sync failed' })),
}
/** A repository in lists: without branches and pull requests. */
export const RepositoryItem = object(item)
export type RepositoryItem = Static<typeof RepositoryItem>
export const RepositoryPage = object({ ...pageOf(RepositoryItem).properties, can: optional(permissions(['connect'])) })
export type RepositoryPage = Static<typeof RepositoryPage>

export const Repository = object({
  ...item,
  branches: Type.Array(branch),
  lastCommit: nullable(Commit),
  pullRequests: Type.Array(Pull, { description: 'Open pull requests, as of the last sync' }),
})
export type Repository = Static<typeof Repository>
export const RepositoryDetail = object({ ...Repository.properties, can: optional(permissions(['sync', 'remove'])) })
export type RepositoryDetail = Static<typeof RepositoryDetail>

const repo = text(300, { minLength: 3, description: 'Address or owner/name', example: 'tutti/tutti' })
export const RepositoryCreate = object({
  repo,
  provider: optional(oneOf(codeHosts, { description: 'The code host, for owner/name' })),
  projectId: optional(id({ description: 'Default: the whole team' })),
})
export type RepositoryCreate = Static<typeof RepositoryCreate>

export const RepositoryQuery = object({
  ...paging('updatedAt', 'createdAt', 'name'),
  projectId: projectFilter,
  status: optional(oneOf(statuses)),
})
export type RepositoryQuery = Static<typeof RepositoryQuery>

// ---- repositories at the code host

export const HostedQuery = object({
  provider: optional(oneOf(codeHosts, { description: 'Default: the provider that the operator chose, or github' })),
})
export type HostedQuery = Static<typeof HostedQuery>
export const HostedPage = object({ items: Type.Array(Hosted), nextCursor: Type.Null() })
export type HostedPage = Static<typeof HostedPage>

// ---- pull requests

export const PullCreate = object({
  title: title(200, { example: 'Lock the data folder' }),
  head: title(250, { description: 'A pushed branch, or owner:branch of a fork', example: 'lock' }),
  base: optional(title(250, { description: 'Default: the default branch', example: 'main' })),
  description: optional(text(50_000, { example: 'A second process is refused.' })),
  reviewers: optional(array(title(100, { example: 'grace' }), 15, { description: 'User names at the code host' })),
  featureId: optional(id()),
})
export type PullCreate = Static<typeof PullCreate>

export const PullRequest = object({
  id: id(),
  repositoryId: id(),
  featureId: nullable(id()),
  number: Pull.properties.number,
  url: Pull.properties.url,
  title: Pull.properties.title,
  head: Pull.properties.head,
  base: branch,
  createdAt: instant(),
})
export type PullRequest = Static<typeof PullRequest>
export const PullOpened = object({
  ...PullRequest.properties,
  existed: bool({ description: 'Whether the pull request was open already' }),
  warning: nullable(text(500, { description: 'Set if the pull request is open but requesting its reviewers failed' })),
})
export type PullOpened = Static<typeof PullOpened>

// ---- the file with instructions for agents

export const targets = ['agents', 'claude', 'gemini', 'copilot', 'cursor'] as const
export type Target = (typeof targets)[number]
const target = oneOf(targets, { description: 'Default: agents' })
export const AgentsFileQuery = object({ target: optional(target) })
export const AgentsFile = object({
  target,
  path: text(300, { example: 'AGENTS.md' }),
  content: text(200_000, { example: '# Tutti\n' }),
})
export type AgentsFile = Static<typeof AgentsFile>
export const AgentsFileCreate = object({
  target: optional(target),
  projectId: optional(id({ description: "Default: the repository's project" })),
  commit: optional(bool({ description: 'true: open a pull request with the file' })),
})
export type AgentsFileCreate = Static<typeof AgentsFileCreate>
export const AgentsFileMade = object({
  ...AgentsFile.properties,
  pullRequest: nullable(PullOpened),
  unchanged: bool({ description: 'The repository has this file already' }),
})
export type AgentsFileMade = Static<typeof AgentsFileMade>
