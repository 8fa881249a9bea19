import { roles } from '../../auth/policy.ts'
import {
  array,
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
  permissions,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'

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
  /** Role of the caller. */
  role: nullable(role),
})
export type Organization = Static<typeof Organization>

export const OrganizationCreate = object({ name, description: optional(description) })
export type OrganizationCreate = Static<typeof OrganizationCreate>

export const OrganizationPatch = partial(
  object({ name, description: nullable(description), settings: jsonObject({ description: 'At most 16 KiB' }) }),
)
export type OrganizationPatch = Static<typeof OrganizationPatch>

export const OrganizationQuery = object(paging('name', 'createdAt'))
export type OrganizationQuery = Static<typeof OrganizationQuery>
/** `write`: change the tasks and other records of the team. */
const OrganizationItem = object({ ...Organization.properties, can: optional(permissions(['write'])) })
export const OrganizationPage = pageOf(OrganizationItem)
export type OrganizationPage = Static<typeof OrganizationPage>

/** Files are counted in units of 2^20 bytes. */
export const planLimits = ['members', 'projects', 'agents', 'storageMb'] as const
export type PlanLimit = (typeof planLimits)[number]

export const TeamUsage = object({
  plan: Organization.properties.plan,
  planStatus: Organization.properties.planStatus,
  items: array(
    object({
      limit: oneOf(planLimits),
      used: int({ example: 3, description: 'Amount that the team uses; storageMb is rounded up' }),
      most: nullable(int({ example: 5, description: 'What the plan allows; null: no limit' })),
    }),
    planLimits.length,
  ),
})
export type TeamUsage = Static<typeof TeamUsage>

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
const MemberItem = object({ ...Member.properties, can: permissions(['setRole', 'remove']) })
export const MemberPage = object({
  ...pageOf(MemberItem).properties,
  can: permissions(['invite']),
  gives: array(role, roles.length, { description: 'The roles that you may give here' }),
})
export type MemberPage = Static<typeof MemberPage>
export const MemberRole = object({ role })
export const MemberAdd = object({ userId: id(), role })
export const MemberRemoved = object({ organizationId: id(), userId: id(), removed: bool() })
