import { Type } from '@sinclair/typebox'
import { scopes } from '../../records/scopes.ts'
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
  partial,
  permissions,
  recordFields,
  type Static,
  text,
  time,
  title,
  url,
} from '../../schema.ts'
import { projectFilter } from '../projects/schema.ts'

/** The service counts bytes. The schema counts characters and only rejects much longer texts. */
export const CONTENT_BYTES = 256 << 10

const noteTitle = title(200, { example: 'How we deploy' })
const content = text(CONTENT_BYTES, {
  example: 'Run `make release`, see [[Runbook]].',
  description: 'Markdown; [[Title]] links to another note',
})
const tags = array(title(50, { example: 'ops' }), 50, { uniqueItems: true })

export const NoteLink = Type.Union([
  object({ url: url(), title: optional(text(200)) }),
  object({ type: text(40, { example: 'task' }), id: id(), kind: optional(text(40, { example: 'relates' })) }),
])
export type NoteLink = Static<typeof NoteLink>
const links = array(NoteLink, 100)
/** A link as callers may write it: also plain text, which the service resolves. */
const plainLink = title(2000, {
  description: 'A URL, or the key, slug or id of a record',
  example: 'https://example.com',
})
const NoteLinkInput = Type.Union([plainLink, ...NoteLink.anyOf])
export type NoteLinkInput = Static<typeof NoteLinkInput>
const linksInput = array(NoteLinkInput, 100)

export const Note = object({
  ...recordFields,
  organizationId: nullable(id()),
  createdById: nullable(id()),
  projectId: nullable(id()),
  title: noteTitle,
  slug: text(80, { example: 'how-we-deploy-x7k2p9' }),
  content,
  tags,
  links,
  scope: oneOf(scopes),
  pinned: bool(),
})
export type Note = Static<typeof Note>

/** `publish`: change who sees the note. */
const noteActions = ['update', 'publish', 'remove'] as const
/** One note as the web API reads it. */
export const NoteRead = object({ ...Note.properties, can: optional(permissions(noteActions)) })
export type NoteRead = Static<typeof NoteRead>

/** A note in lists: without its content. */
export const NoteItem = object((({ content: _, links: __, ...rest }) => rest)(Note.properties))
export type NoteItem = Static<typeof NoteItem>

const Backlink = object({ id: id(), title: noteTitle, slug: text(80, { example: 'runbook-m4q8zt' }) })
export const NoteDetail = object({ ...Note.properties, backlinks: Type.Array(Backlink) })
export type NoteDetail = Static<typeof NoteDetail>

export const NoteLinks = object({
  mentions: Type.Array(Backlink, { description: 'Notes that it mentions as [[title]]' }),
  backlinks: Type.Array(Backlink, { description: 'Notes that mention it' }),
})
export type NoteLinks = Static<typeof NoteLinks>

export const NoteCreate = object({
  title: noteTitle,
  content: optional(content),
  tags: optional(tags),
  links: optional(linksInput),
  projectId: optional(id()),
  scope: optional(oneOf(scopes, { example: 'team', description: 'Default: team, the current one' })),
  pinned: optional(bool()),
})
export type NoteCreate = Static<typeof NoteCreate>

export const NotePatch = partial(
  object({
    title: noteTitle,
    content,
    tags,
    links: linksInput,
    projectId: nullable(id()),
    scope: oneOf(scopes),
    pinned: bool(),
  }),
)
export type NotePatch = Static<typeof NotePatch>

export const NoteQuery = object({
  ...paging('updatedAt', 'createdAt', 'title'),
  tag: optional(text(50)),
  search: optional(text(200, { description: 'Words that must all occur' })),
  since: optional(time({ description: 'Changed at or after' })),
  until: optional(time({ description: 'Changed before' })),
  projectId: projectFilter,
  scope: optional(oneOf(scopes)),
  pinned: optional(bool({ description: 'true: only pinned notes; false: only others' })),
})
export type NoteQuery = Static<typeof NoteQuery>
export const NotePage = object({ ...pageOf(NoteItem).properties, can: optional(permissions(['create'])) })
export type NotePage = Static<typeof NotePage>

/** Fields that a visitor without an account sees. */
export const PublicNote = object({
  title: noteTitle,
  slug: Note.properties.slug,
  content,
  tags,
  author: object({ handle: text(63, { example: 'ada' }), name: text(100, { example: 'Ada Lovelace' }) }),
  createdAt: instant(),
  updatedAt: instant(),
})
export type PublicNote = Static<typeof PublicNote>

/** A document of a public project, which is one of its public notes. */
const author = object({ handle: text(63, { example: 'ada' }), name: text(100, { example: 'Ada Lovelace' }) })
const ProjectDocItem = object({
  title: noteTitle,
  slug: Note.properties.slug,
  tags,
  author: nullable(author),
  createdAt: instant(),
  updatedAt: instant(),
})
const DocLink = object({ title: noteTitle, slug: Note.properties.slug })
export const ProjectDoc = object({
  ...ProjectDocItem.properties,
  content,
  project: object({ name: text(100, { example: 'Tutti' }), slug: text(63, { example: 'tutti' }) }),
  mentions: Type.Array(DocLink, { description: 'Documents of the project that it mentions as [[title]]' }),
  backlinks: Type.Array(DocLink, { description: 'Documents of the project that mention it' }),
})
export type ProjectDoc = Static<typeof ProjectDoc>
export const ProjectDocPage = pageOf(ProjectDocItem)
export type ProjectDocPage = Static<typeof ProjectDocPage>
export const DocQuery = object(paging('title', 'updatedAt', 'createdAt'))
export type DocQuery = Static<typeof DocQuery>
export const DocsOf = object({
  team: text(63, { example: 'analytical-engines', description: 'Slug of the team' }),
  project: text(63, { example: 'tutti', description: 'Slug of the project' }),
})
export const DocRef = object({ ...DocsOf.properties, slug: text(80, { example: 'how-we-deploy-x7k2p9' }) })
