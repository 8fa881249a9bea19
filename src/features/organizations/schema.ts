import { Type } from '@sinclair/typebox'
import { roles } from '../../auth/policy.ts'
import {
  bool,
  email,
  id,
  instant,
  int,
  jsonObject,
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
import { ProjectActivity } from '../projects/schema.ts'
import { statuses } from '../tasks/schema.ts'

const name = title(100, { example: 'Analytical Engines' })
const description = text(2000)
const role = oneOf(roles)

export const Organization = object({
  ...recordFields,
  name,
  slug: text(63, { example: 'analytical-engines' }),
  description: nullable(description),
  avatarUrl: nullable(text(2000)),
  plan: text(40, { example: 'included' }),
  planStatus: oneOf(['active', 'trialing', 'past_due', 'cancelled']),
  settings: jsonObject(),
  personal: bool(),
  /** The caller's. */
  role: nullable(role),
})
export type Organization = Static<typeof Organization>

export const OrganizationCreate = object({ name, description: optional(description) })
export type OrganizationCreate = Static<typeof OrganizationCreate>

export const OrganizationPatch = partial(
  object({ name, description: nullable(description), settings: jsonObject({ description: '16 KiB at most' }) }),
)
export type OrganizationPatch = Static<typeof OrganizationPatch>

export const OrganizationQuery = object(paging('name', 'createdAt'))
export type OrganizationQuery = Static<typeof OrganizationQuery>
export const OrganizationPage = pageOf(Organization)
export type OrganizationPage = Static<typeof OrganizationPage>

export const Member = object({
  id: id({ description: "The user's id" }),
  organizationId: id(),
  name: text(100, { example: 'Ada Lovelace' }),
  handle: text(63, { example: 'ada' }),
  email: email(),
  avatarUrl: nullable(text(2000)),
  role,
  joinedAt: instant(),
})
export type Member = Static<typeof Member>
export const MemberQuery = object(paging('name', 'joinedAt'))
export type MemberQuery = Static<typeof MemberQuery>
export const MemberPage = pageOf(Member)
export type MemberPage = Static<typeof MemberPage>
export const MemberRole = object({ role })
export const MemberAdd = object({ userId: id(), role })
export const MemberRemoved = object({ organizationId: id(), userId: id(), removed: bool() })

// ---- what happens in it

export const Activity = object({ ...ProjectActivity.properties, projectId: nullable(id()), subjectId: nullable(id()) })
export const ActivityQuery = object({
  order: optional(oneOf(['asc', 'desc'], { description: 'newest first unless told' })),
  limit: paging().limit,
  cursor: paging().cursor,
  type: optional(text(100, { example: 'note.created' })),
  actorId: optional(id({ description: 'What this person did' })),
  since: optional(instant({ description: 'At or after' })),
  until: optional(instant({ description: 'Before' })),
})
export type ActivityQuery = Static<typeof ActivityQuery>
export const ActivityPage = pageOf(Activity)
export type ActivityPage = Static<typeof ActivityPage>

const date = text(10, { pattern: '^\\d{4}-\\d\\d-\\d\\d$', example: '2026-11-15' })
const n = (example: number) => int({ example })

export const AnalyticsQuery = object({
  days: optional(int({ min: 1, max: 365, example: 30, description: 'So many days up to today; 30 unless told' })),
})
export type AnalyticsQuery = Static<typeof AnalyticsQuery>
export const Analytics = object({
  days: n(30),
  from: instant(),
  members: n(5),
  activeMembers: n(3),
  projects: object({ active: n(4), archived: n(1) }),
  tasks: object(
    Object.fromEntries(statuses.map((status) => [status, n(2)])) as Record<
      (typeof statuses)[number],
      ReturnType<typeof n>
    >,
  ),
  notes: n(12),
  completed: Type.Array(object({ date, count: n(2) }), { description: 'Tasks, day by day' }),
  changes: Type.Array(object({ date, people: n(7), agents: n(21) }), {
    description: 'By people, and by agents with their tokens',
  }),
  contributors: Type.Array(object({ id: id(), name: text(100, { example: 'Ada Lovelace' }), changes: n(28) }), {
    description: 'The members who changed most, with their agents; ten at most',
  }),
})
export type Analytics = Static<typeof Analytics>

const { email: _, organizationId: __, joinedAt: ___, ...face } = Member.properties
export const Presence = object({
  ...face,
  status: oneOf(['online', 'away', 'offline'], { description: 'Seen within 2 minutes, within 15, or longer ago' }),
  lastSeenAt: nullable(instant()),
  agents: int({ example: 1, description: 'MCP tokens of his in this team that were used within 2 minutes' }),
})
export const PresencePage = pageOf(Presence)
export type PresencePage = Static<typeof PresencePage>
