import { Type } from '@sinclair/typebox'
import { type RecordName, searchNames } from '../../records/names.ts'
import { priorities } from '../../records/task-states.ts'
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
  permissions,
  recordFields,
  type Static,
  text,
  title,
  url,
} from '../../schema.ts'
import { PlanDraft } from '../planning/schema.ts'

/** The service counts bytes. The schema counts characters and only rejects much longer texts. */
export const CONTENT_BYTES = 16 << 10

// ---- chats

const heading = title(200, { example: 'Why the folder is locked' })
export const AiSession = object({
  ...recordFields,
  title: nullable(heading),
  organizationId: nullable(id()),
  projectId: nullable(id()),
  repositoryId: nullable(id()),
  messages: int({ example: 4, description: 'Questions and answers' }),
})
export type AiSession = Static<typeof AiSession>
export const AiSessionRead = object({ ...AiSession.properties, can: permissions(['accept']) })
export type AiSessionRead = Static<typeof AiSessionRead>
export const AiSessionPage = pageOf(AiSession)
export type AiSessionPage = Static<typeof AiSessionPage>

export const AiSessionCreate = object({
  title: optional(title(200, { example: 'Why the folder is locked', description: 'Default: the first question' })),
  projectId: optional(id({ description: 'Answers come from this project only' })),
  repositoryId: optional(id({ description: 'Answers also come from the files of this repository' })),
})
export type AiSessionCreate = Static<typeof AiSessionCreate>
export const AiSessionRename = object({ title: heading })

export const AiSessionQuery = object({
  ...paging('updatedAt', 'createdAt'),
  projectId: optional(id({ description: 'Only chats about this project' })),
  repositoryId: optional(id({ description: 'Only chats about this repository' })),
  search: optional(text(200, { example: 'folder', description: 'Part of the title' })),
})
export type AiSessionQuery = Static<typeof AiSessionQuery>

// ---- sources of an answer

export const Source = object({
  number: int({ min: 1, example: 1, description: 'Number that the answer cites: [1]' }),
  kind: oneOf([...searchNames, 'file'], { example: 'note' }),
  id: nullable(id({ description: 'Null for files' })),
  title: text(1000, { example: 'How we deploy' }),
  path: text(500, {
    example: '/api/notes/019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
    description: 'Path to read it; of a file, its path in the repository',
  }),
  organizationId: nullable(id()),
  commit: nullable(text(64, { example: '3f98b0f1c2d4e5a6b7c8d9e0f1a2b3c4d5e6f708', description: 'Only for files' })),
  lines: nullable(text(20, { example: '1-60', description: 'Only for files' })),
  url: nullable(url({ description: 'Address of a file at its code host' })),
})
export type Source = Static<typeof Source>

// ---- proposals

const TaskDraft = object({
  title: title(200, { example: 'Lock the data folder' }),
  description: optional(text(20_000, { example: 'A second process is refused.' })),
  priority: optional(oneOf(priorities, { description: 'Default: medium' })),
  labels: optional(array(title(50), 20, { uniqueItems: true })),
  estimate: optional(int({ max: 10_000 })),
  acceptance: optional(array(title(500), 30)),
  blockedBy: optional(array(title(200), 20, { description: 'Titles of this list, or keys of tasks' })),
})
export const TasksDraft = object({ tasks: Type.Array(TaskDraft, { minItems: 1, maxItems: 50 }) })
export type TasksDraft = Static<typeof TasksDraft>
export const NoteDraft = object({
  title: title(200, { example: 'Why the folder is locked' }),
  content: text(50_000, { example: 'One process at a time.' }),
  tags: optional(array(title(50, { example: 'ops' }), 20, { uniqueItems: true })),
})
export type NoteDraft = Static<typeof NoteDraft>
const Draft = Type.Union([TasksDraft, NoteDraft, PlanDraft])
export type Draft = Static<typeof Draft>

/** What can be proposed, and the kind of record that accepting it creates. */
const creates = { tasks: 'task', note: 'note', plan: 'epic' } as const satisfies Record<string, RecordName>
type Proposed = keyof typeof creates

const CreatedRecord = object({
  kind: oneOf(Object.values(creates), { example: 'task' }),
  id: id(),
  title: text(500, { example: 'Lock the data folder' }),
  path: text(300, { example: '/api/tasks/TUT-42' }),
})
export type Made = Static<typeof CreatedRecord>

export const Proposal = object({
  number: int({ min: 1, example: 1 }),
  kind: oneOf(Object.keys(creates) as Proposed[]),
  state: oneOf(['open', 'accepted', 'declined']),
  draft: Draft,
  sources: Type.Array(int({ min: 1, example: 1 }), { description: 'What the model had read before it proposed this' }),
  made: Type.Array(CreatedRecord, { description: 'What was created, once it is accepted' }),
})
export type Proposal = Static<typeof Proposal>

export const ProposalAnswer = object({
  accept: bool({ description: 'false: decline it' }),
  edit: optional(Type.Union([TasksDraft, NoteDraft, PlanDraft], { description: 'What to create instead' })),
  projectId: optional(id({ description: "Default: the chat's project" })),
})
export type ProposalAnswer = Static<typeof ProposalAnswer>

// ---- messages

export const Message = object({
  id: id(),
  sessionId: id(),
  createdAt: instant(),
  role: oneOf(['user', 'assistant'], { example: 'assistant' }),
  content: text(40_000, {
    example: 'One process at a time may use the folder [1].',
    description: 'Plain text, not markdown or HTML',
  }),
  status: oneOf(['complete', 'stopped', 'failed', 'no_model'], {
    description: 'stopped: the caller disconnected; no_model: no chat model is set up, so only the sources are there',
  }),
  sources: Type.Array(Source),
  citations: Type.Array(int({ min: 1, example: 1 }), { description: 'Numbers of the sources that the answer cites' }),
  proposals: Type.Array(Proposal, { description: 'Drafts; nothing is created before you accept one' }),
  usage: nullable(
    object({
      prompt: int({ example: 1200 }),
      completion: int({ example: 80 }),
      estimated: bool({ description: 'true: the model server did not report its usage' }),
    }),
  ),
  model: nullable(text(200, { example: 'llama3.2' })),
  error: nullable(oneOf(['upstream_failed', 'upstream_timeout'], { description: 'Why there is no complete answer' })),
})
export type Message = Static<typeof Message>
/** Sent to the caller while an answer is written. */
export type AnswerEvent =
  | { type: 'sources'; sources: Source[] }
  | { type: 'delta'; text: string }
  | { type: 'proposal'; proposal: Proposal }
  | { type: 'done'; message: Message }
export type AnswerListener = (happening: AnswerEvent) => void

export const MessagePage = pageOf(Message)
export type MessagePage = Static<typeof MessagePage>
export const MessageQuery = object(paging('createdAt'))
export type MessageQuery = Static<typeof MessageQuery>

const question = { example: 'Why is the folder locked?' }
export const MessageCreate = object({
  content: title(CONTENT_BYTES, question),
  kinds: optional(
    array(oneOf(searchNames), searchNames.length, { uniqueItems: true, description: 'Only records of these kinds' }),
  ),
  paths: optional(
    array(title(300), 8, {
      uniqueItems: true,
      description: "Files of the chat's repository to read; default: those that seem to fit",
    }),
  ),
})
export type MessageCreate = Static<typeof MessageCreate>

export const ChatCreate = object({
  prompt: title(CONTENT_BYTES, question),
  sessionId: optional(id({ description: 'A chat about this repository; default: a new one' })),
})
export type ChatCreate = Static<typeof ChatCreate>

// ---- the model

export const AiStatus = object({
  model: nullable(text(200, { example: 'llama3.2', description: 'Null: no chat model is set up' })),
  host: nullable(text(300, { example: 'localhost:11434', description: 'Where questions and sources are sent' })),
  local: bool({ description: 'true: the host is this machine or in its network' }),
  left: nullable(int({ example: 42_000, description: 'Tokens that you may still use today; null: no limit' })),
  team: bool({ description: "Answers may come from the current team's records" }),
  today: optional(
    object(
      { users: int({ example: 3 }), answers: int({ example: 40 }), tokens: int({ example: 61_000 }) },
      { description: 'For administrators: usage of all users today' },
    ),
  ),
})
export type AiStatus = Static<typeof AiStatus>
