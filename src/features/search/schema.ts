import { Type } from '@sinclair/typebox'
import { searchNames } from '../../records/names.ts'
import { filterKeys } from '../../records/query-filters.ts'
import {
  array,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
  title,
  yes,
} from '../../schema.ts'

export const q = text(200, {
  example: 'deploy',
  description:
    'Words that must all occur. Operators: "a phrase", -word to exclude, or. The last word may be a prefix. Filters: label:offline, project:LAN, and for tasks status:todo, is:open (also done, blocked, ready, mine), @ada or assignee:ada; -label:docs excludes, and a,b means one of these',
})
const kindList = text(200, {
  pattern: `^(${searchNames.join('|')})(,(${searchNames.join('|')}))*$`,
  example: 'note,task',
  description: `Only these, separated by commas: ${searchNames.join(', ')}`,
})
const within = id({ description: 'Only records in this project' })

/** A piece of plain text. Clients must escape it: it contains whatever its author wrote. */
export const Part = object({ text: text(20_000, { example: 'deploy' }), match: optional(yes()) })
export type Part = Static<typeof Part>

const record = {
  kind: oneOf(searchNames),
  id: id(),
  title: text(1000, { example: 'How we deploy' }),
  path: text(300, { example: '/api/notes/019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10', description: 'Path to read it' }),
  organizationId: nullable(id({ description: 'Null for personal records' })),
  projectId: nullable(id()),
}

const keyed = {
  key: nullable(text(100, { example: 'how-we-deploy-x7k2p9', description: 'Key or slug, if its kind has one' })),
  status: nullable(text(63, { example: 'todo', description: 'State, if its kind has one' })),
}

export const Found = object({
  ...record,
  ...keyed,
  updatedAt: instant(),
  score: Type.Number({ examples: [0.61], description: 'Comparable within one response only' }),
  highlight: object(
    { title: Type.Array(Part), text: Type.Array(Part) },
    { description: 'In pieces; `match` marks the matches' },
  ),
})
export type Found = Static<typeof Found>
export const FoundGroup = object({
  kind: oneOf(searchNames),
  total: int({ example: 12, description: 'Records of this kind; counts at most the 1000 newest passages' }),
  items: Type.Array(Found),
})
export type FoundGroup = Static<typeof FoundGroup>
/** Present only if the result may lack recent changes. */
export const indexing = optional(
  object(
    { behind: int({ example: 3, description: 'Changes that cannot be found yet; counts at most 1000' }) },
    { description: 'Only if the search index is behind: search again in a moment' },
  ),
)
/** A filter that the query contained. Other terms with a colon count as words. */
const UnderstoodFilter = object({
  key: oneOf(filterKeys, { example: 'assignee' }),
  values: Type.Array(text(200, { example: 'Ada Lovelace' }), {
    description: 'One of these; people by their whole name',
  }),
  not: optional(yes({ description: 'None of the values' })),
  text: text(200, { example: '@ada', description: 'As it was typed' }),
})
export type UnderstoodFilter = Static<typeof UnderstoodFilter>
export const FoundGroups = object({
  items: Type.Array(FoundGroup, { description: 'By kind, the one with the best match first' }),
  nextCursor: Type.Null(),
  corrected: optional(
    text(400, { example: 'deploy', description: 'The corrected query, if nothing matched as typed' }),
  ),
  filters: optional(Type.Array(UnderstoodFilter, { description: 'The filters in the query, if there are any' })),
  indexing,
})
export type FoundGroups = Static<typeof FoundGroups>
export const FindQuery = object({
  q: optional(q),
  kinds: optional(kindList),
  projectId: optional(within),
  limit: optional(int({ min: 1, max: 50, description: 'At most this many of each kind. Default: 10' })),
})
export type FindQuery = Static<typeof FindQuery>

export const Suggestion = object({ ...record, ...keyed })
export type Suggestion = Static<typeof Suggestion>
export const Suggestions = object({ items: Type.Array(Suggestion), nextCursor: Type.Null() })
export type Suggestions = Static<typeof Suggestions>
export const SuggestQuery = object({
  q: optional(
    text(200, {
      example: 'depl',
      description: 'Prefixes of words in a title, which tolerate small typos, or the key of a task: `TUT-4`',
    }),
  ),
  kinds: optional(kindList),
  projectId: optional(within),
  limit: optional(int({ min: 1, max: 10, description: 'Default: 10' })),
})
export type SuggestQuery = Static<typeof SuggestQuery>

export const Question = object({
  query: title(2000, {
    example: 'How do we get back after a failed deployment?',
    description: 'A question or words, with the same filters as `GET /api/search`',
  }),
  kinds: optional(array(oneOf(searchNames), searchNames.length, { uniqueItems: true, description: 'Only these' })),
  projectId: optional(within),
  limit: optional(int({ min: 1, max: 20, description: 'Maximum number of sources. Default: 8' })),
})
export type Question = Static<typeof Question>
export const AnswerSource = object({
  number: int({ min: 1, example: 1, description: 'Number that the answer cites: [1]' }),
  ...record,
  updatedAt: instant(),
  text: text(8000, { example: 'Run `make release`.', description: 'The matching passage' }),
  score: Type.Number({ examples: [0.83] }),
  meaning: nullable(
    Type.Number({ examples: [0.71], description: 'Similarity of meaning, -1 to 1; null if only words were compared' }),
  ),
})
export type AnswerSource = Static<typeof AnswerSource>
export const Answer = object({
  answer: nullable(
    text(20_000, {
      example: 'Run `make rollback` [1].',
      description: 'Plain text; null if no chat model is set up',
    }),
  ),
  citations: Type.Array(int({ min: 1, example: 1 }), { description: 'Numbers of the sources that the answer cites' }),
  answerError: optional(
    oneOf(['upstream_failed', 'upstream_timeout'], { description: 'Why the chat model gave no answer' }),
  ),
  mode: oneOf(['hybrid', 'words'], { description: 'words: the embedding model is off or unreachable' }),
  sources: Type.Array(AnswerSource),
  filters: optional(Type.Array(UnderstoodFilter, { description: 'The filters in the query, if there are any' })),
})
export type Answer = Static<typeof Answer>
