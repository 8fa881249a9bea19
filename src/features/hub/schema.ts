import { Type } from '@sinclair/typebox'
import { hubLimits } from '../../live/limits.ts'
import { ActorSummary } from '../../records/user-or-agent.ts'
import {
  array,
  bool,
  eventKind,
  id,
  instant,
  jsonObject,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
} from '../../schema.ts'

const cursor = text(2000, {
  example: 'h1.019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10.2s.',
  description: 'Opaque. Send it to continue after the last event',
})

export const Ticket = object({
  ticket: text(100, { example: 'svc_one_…', description: 'Works once, for `GET /api/ws?ticket=`' }),
  expiresAt: instant(),
})
export type Ticket = Static<typeof Ticket>

export const SocketQuery = object({
  ticket: optional(text(4096, { description: 'From `POST /api/ws/ticket`' })),
  token: optional(text(4096, { description: 'A credential, for clients that can send neither a header nor a cookie' })),
})

export const EventsQuery = object({
  topics: optional(
    text(hubLimits.topics * 60, {
      example: 'project:019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
      description: 'Separated by commas: `organization:<id>`, `project:<id>`, `record:<id>`. `me` is always included',
    }),
  ),
  cursor: optional(cursor),
  records: optional(bool({ description: 'Add the record as it is now' })),
})
export type EventsQuery = Static<typeof EventsQuery>

export const LiveEvent = object({
  cursor,
  id: id(),
  type: text(100, { example: 'task.completed' }),
  kind: eventKind,
  at: instant(),
  description: text(3000, { example: 'completed TUT-4 Lock the data folder' }),
  actor: ActorSummary,
  organizationId: nullable(id()),
  projectId: nullable(id()),
  subjectId: nullable(id({ description: 'The record that the event is about' })),
  data: jsonObject(),
  record: optional(jsonObject({ description: 'The record as it is now' })),
})
export type LiveEvent = Static<typeof LiveEvent>

export const LiveEvents = object({
  events: Type.Array(LiveEvent),
  cursor,
  refused: array(object({ topic: text(200), code: text(40, { example: 'not_found' }) }), hubLimits.topics, {
    description: 'Topics that do not exist or that you cannot see',
  }),
  reset: optional(
    oneOf(['epoch', 'age', 'count'], { description: 'Events were missed: load everything again, then continue' }),
  ),
})
export type LiveEvents = Static<typeof LiveEvents>
