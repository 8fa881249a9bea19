import { roles } from '../../auth/policy.ts'
import { agentFields } from '../../records/user-or-agent.ts'
import {
  array,
  bool,
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
  permissions,
  type Static,
  text,
  time,
  title,
} from '../../schema.ts'
import { Member, Organization } from '../organizations/schema.ts'
import { User } from '../users/schema.ts'

const search = optional(text(200, { description: 'Part of a name or address' }))
const number = int({ example: 2 })

// ---- people

const { preferences: _, ...account } = User.properties

export const AdminUser = object({ ...account, lastSeenAt: nullable(instant()) })
export type AdminUser = Static<typeof AdminUser>

/** Actions that are not allowed for every user. */
const userActions = ['setRole', 'suspend', 'readCode', 'resetPassword', 'impersonate'] as const
export type UserAction = (typeof userActions)[number]

export const AdminUserDetail = object({
  ...AdminUser.properties,
  counts: object({
    teams: number,
    projects: number,
    notes: number,
    issues: number,
    sessions: number,
    apiKeys: number,
    mcpTokens: number,
  }),
  signIn: object({ password: bool(), passkeys: number, providers: array(text(40, { example: 'github' }), 10) }),
  can: permissions(userActions),
})
export type AdminUserDetail = Static<typeof AdminUserDetail>

export const AdminUserQuery = object({
  ...paging('createdAt', 'name', 'email'),
  search: optional(text(200, { description: 'Part of a name, e-mail address or handle' })),
  role: optional(User.properties.role),
  status: optional(User.properties.status),
})
export type AdminUserQuery = Static<typeof AdminUserQuery>
export const AdminUserPage = pageOf(AdminUser)
export type AdminUserPage = Static<typeof AdminUserPage>

export const UserRole = object({ role: User.properties.role })
const reason = title(500, { example: 'Asked for help with a lost project (ticket 42)' })
export const Suspend = object({ reason: optional(reason) })
export type Suspend = Static<typeof Suspend>

export const SentCode = object({
  code: optional(text(6, { description: 'Six digits', example: '204816' })),
  createdAt: instant(),
  expiresAt: instant(),
})
export type SentCode = Static<typeof SentCode>

export const PasswordReset = object({
  reset: bool(),
  sent: bool({ description: 'false: there is no mail server, so pass the link on yourself' }),
  link: optional(
    text(1000, {
      description:
        'Only without a mail server, and not for administrators. The user chooses a password with it. Returned once',
      example: 'https://tutti.example.com/reset#svc_one_…',
    }),
  ),
  detail: optional(text(300, { description: 'Why there is neither a mail nor a link' })),
})
export type PasswordReset = Static<typeof PasswordReset>

export const Impersonate = object({ reason })
export const Impersonation = object({
  token: optional(
    text(4000, {
      description: 'Access JWT, expires after 30 minutes, not renewable; returned once',
      example: 'eyJhbGciOiJFZERTQSJ9.…',
    }),
  ),
  expiresAt: instant(),
  user: User,
})
export type Impersonation = Static<typeof Impersonation>

const plan = text(40, { pattern: '^[a-z0-9](-?[a-z0-9])*$', example: 'included' })
export const Subscription = object({
  plan,
  status: Organization.properties.planStatus,
  organizationId: optional(id({ description: 'A team of the user. Default: their personal one' })),
})
export type Subscription = Static<typeof Subscription>
export const SubscriptionSet = object({ organizationId: id(), plan, status: Organization.properties.planStatus })
export type SubscriptionSet = Static<typeof SubscriptionSet>

// ---- records of a user: names and places, never content

export const ListQuery = object(paging('createdAt'))
export type ListQuery = Static<typeof ListQuery>
const times = { id: id(), createdAt: instant(), updatedAt: instant() }

const UserProject = object({
  ...times,
  organizationId: id(),
  name: text(100, { example: 'Tutti' }),
  slug: text(63, { example: 'tutti' }),
  key: text(6, { example: 'TUT' }),
  visibility: oneOf(['private', 'team', 'public']),
  status: oneOf(['active', 'archived']),
})
export const UserProjectPage = pageOf(UserProject)
export type UserProjectPage = Static<typeof UserProjectPage>

const UserNote = object({
  ...times,
  organizationId: nullable(id()),
  projectId: nullable(id()),
  title: text(200, { example: 'How we deploy' }),
  scope: oneOf(['personal', 'team', 'public']),
})
export const UserNotePage = pageOf(UserNote)
export type UserNotePage = Static<typeof UserNotePage>

const UserSession = object({
  id: id(),
  via: text(40, { example: 'password' }),
  impersonatorId: nullable(id({ description: 'The administrator who acts as this user' })),
  device: nullable(text(100)),
  userAgent: nullable(text(300)),
  ip: nullable(text(64)),
  createdAt: instant(),
  lastSeenAt: instant(),
  expiresAt: instant(),
  revokedAt: nullable(instant()),
})
export const UserSessionPage = pageOf(UserSession)
export type UserSessionPage = Static<typeof UserSessionPage>

const UserTeam = object({
  id: id(),
  name: text(100, { example: 'Analytical Engines' }),
  slug: text(63, { example: 'analytical-engines' }),
  personal: bool(),
  role: oneOf(roles),
  joinedAt: instant(),
})
export const UserTeamQuery = object(paging('joinedAt', 'name'))
export type UserTeamQuery = Static<typeof UserTeamQuery>
export const UserTeamPage = pageOf(UserTeam)
export type UserTeamPage = Static<typeof UserTeamPage>

// ---- teams

const { role: __, ...organization } = Organization.properties

export const AdminTeam = object({ ...organization, createdById: nullable(id()), members: number })
export type AdminTeam = Static<typeof AdminTeam>
const teamActions = ['remove'] as const
export type TeamAction = (typeof teamActions)[number]
export const AdminTeamDetail = object({
  ...AdminTeam.properties,
  projects: number,
  owners: array(Member, 100),
  people: array(Member, 200, { description: 'Its members by date of joining, oldest first; at most 200' }),
  can: permissions(teamActions),
})
export type AdminTeamDetail = Static<typeof AdminTeamDetail>
export const AdminTeamQuery = object({ ...paging('createdAt', 'name'), search, personal: optional(bool()) })
export type AdminTeamQuery = Static<typeof AdminTeamQuery>
export const AdminTeamPage = pageOf(AdminTeam)
export type AdminTeamPage = Static<typeof AdminTeamPage>

// ---- the instance

export const AuditEntry = object({
  id: id(),
  seq: int({ max: Number.MAX_SAFE_INTEGER, example: 4711 }),
  at: instant(),
  type: text(100, { example: 'user.signed_in' }),
  description: text(300, { example: 'A user signed in', description: 'What the type means' }),
  sentence: text(5000, {
    example: 'Ada Lovelace suspended Grace Hopper: spam',
    description: 'Who did what. Plain text, which may contain texts of users',
  }),
  action: text(100, { example: 'accounts.signIn' }),
  actor: object({
    kind: text(20, { example: 'session' }),
    id: nullable(id()),
    name: text(100, { example: 'Ada Lovelace' }),
    ...agentFields,
  }),
  impersonatorId: nullable(id({ description: 'The administrator who acted as the actor' })),
  credentialId: nullable(id()),
  organizationId: nullable(id()),
  projectId: nullable(id()),
  userId: nullable(id({ description: 'The user it is about' })),
  subjectId: nullable(id({ description: 'The record it is about' })),
  data: jsonObject(),
  requestId: text(100, { example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }),
  ip: nullable(text(64, { example: '192.0.2.7' })),
})
export type AuditEntry = Static<typeof AuditEntry>

const { order, limit, cursor } = paging('seq')
/** Sorted by sequence only, and without a total: there may be millions of entries. */
export const AuditQuery = object({
  order,
  limit,
  cursor,
  type: optional(text(100, { description: 'Start of the type: `user.` or `user.signed_in`', example: 'user.' })),
  actorId: optional(id({ description: 'The person or agent that acted, also through an agent or as another user' })),
  userId: optional(id({ description: 'The user it is about' })),
  person: optional(
    text(100, {
      example: 'ada@example.com',
      description: 'Part of a name or address: what they did, and what was done to them. Also names of agents',
    }),
  ),
  organizationId: optional(id()),
  since: optional(time({ description: 'At or after' })),
  until: optional(time({ description: 'Before' })),
})
export type AuditQuery = Static<typeof AuditQuery>
export const AuditPage = pageOf(AuditEntry)
export type AuditPage = Static<typeof AuditPage>

const bytes = int({ max: Number.MAX_SAFE_INTEGER, example: 73_400_320 })
export const SystemState = object({
  version: text(40, { example: '1.0.0' }),
  startedAt: instant(),
  uptimeSeconds: int({ example: 3600 }),
  database: object({
    kind: oneOf(['pglite', 'postgres']),
    version: text(200, { example: 'PostgreSQL 17.2' }),
    ok: bool(),
    readOnly: bool({ description: 'Writes are refused because the disk is full' }),
    bytes,
    detail: jsonObject(),
  }),
  disk: object({ freeBytes: bytes, totalBytes: bytes }, { description: 'Disk of the data folder' }),
  jobs: object({ waiting: number, active: number, failed: number }),
  mail: object({ mode: oneOf(['smtp', 'outbox']), waiting: number, failed: number }),
  connections: object({ mcpStreams: number, http: number }, { description: 'Connections of this instance' }),
  memory: object({ residentBytes: bytes }),
})
export type SystemState = Static<typeof SystemState>
