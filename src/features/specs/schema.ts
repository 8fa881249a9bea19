import { Type } from '@sinclair/typebox'
import { UserOrAgent } from '../../records/user-or-agent.ts'
import {
  id,
  instant,
  int,
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
import { LinkedRecord } from '../links/schema.ts'
import { projectFilter } from '../projects/schema.ts'

export const statuses = ['draft', 'review', 'approved', 'archived'] as const
export const CONTENT_BYTES = 256 << 10

const name = title(200, { example: 'Folder lock' })
const content = text(CONTENT_BYTES, { minLength: 1, example: '# Folder lock\n\nOne process at a time.' })
const message = text(500, { example: 'Say what happens on NFS' })
const item = {
  ...recordFields,
  organizationId: id(),
  projectId: id(),
  createdById: nullable(id()),
  title: name,
  slug: text(80, { example: 'folder-lock' }),
  status: oneOf(statuses),
}
export const SpecItem = object(item)
export type SpecItem = Static<typeof SpecItem>
export const Spec = object({ ...item, content })
export type Spec = Static<typeof Spec>
export const SpecDetail = object({
  ...Spec.properties,
  links: Type.Array(LinkedRecord),
  can: permissions(['update', 'reopen']),
})
export type SpecDetail = Static<typeof SpecDetail>
export const SpecPage = object({ ...pageOf(SpecItem).properties, can: optional(permissions(['create'])) })
export type SpecPage = Static<typeof SpecPage>

export const SpecVersion = object({
  version: int({ min: 1, example: 2 }),
  title: name,
  status: oneOf(statuses),
  message: nullable(message),
  author: UserOrAgent,
  createdAt: instant(),
})
export type SpecVersion = Static<typeof SpecVersion>
export const SpecVersions = pageOf(SpecVersion)
export type SpecVersions = Static<typeof SpecVersions>
export const VersionQuery = object(paging('version'))
export type VersionQuery = Static<typeof VersionQuery>

export const Change = object({
  added: int({ example: 12 }),
  removed: int({ example: 3 }),
  diff: text(1_000_000, { description: 'Unified diff' }),
})
export type Change = Static<typeof Change>
export const Comparison = object({ from: int({ example: 1 }), to: int({ example: 2 }), ...Change.properties })
export type Comparison = Static<typeof Comparison>
export const SpecUpdated = object({ ...Spec.properties, change: object({ added: int(), removed: int() }) })
export type SpecUpdated = Static<typeof SpecUpdated>

export const SpecCreate = object({
  title: name,
  content,
  projectId: optional(text(100, { minLength: 1, description: 'Project: id, slug or key', example: 'tutti' })),
  status: optional(oneOf(['draft', 'review', 'approved'], { description: 'Default: draft' })),
  message: optional(message),
})
export type SpecCreate = Static<typeof SpecCreate>
export const SpecPatch = object({
  title: optional(name),
  content: optional(content),
  status: optional(oneOf(statuses)),
  message: optional(message),
  baseVersion: optional(int({ min: 1, description: 'The version this is based on; or use If-Match', example: 1 })),
})
export type SpecPatch = Static<typeof SpecPatch>
export const SpecQuery = object({
  ...paging('updatedAt', 'createdAt'),
  projectId: projectFilter,
  status: optional(oneOf(statuses)),
  search: optional(text(200)),
})
export type SpecQuery = Static<typeof SpecQuery>
export const CompareQuery = object({ from: int({ min: 1, example: 1 }), to: optional(int({ min: 1, example: 2 })) })
