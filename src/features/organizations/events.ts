import { define, text, texts } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofOrganization = { kind: 'organization', told: 'access', changes: 'rights' } as const

export const organizationCreated = define('organization.created', {
  ...ofOrganization,
  says: 'A team was created',
  data: { name: text, userId: text },
})
export const organizationUpdated = define('organization.updated', {
  ...ofOrganization,
  says: 'The settings of a team changed',
  data: { fields: texts },
})
export const organizationPlanChanged = define('organization.plan_changed', {
  ...ofOrganization,
  says: 'An administrator changed the plan of a team',
  data: { userId: text, plan: optional(text), status: optional(text) },
})
export const organizationDeleted = define('organization.deleted', {
  ...ofOrganization,
  says: 'A team was deleted',
  data: { name: text },
})

const ofMember = { kind: 'member', told: 'access', changes: 'rights' } as const

export const memberAdded = define('member.added', {
  ...ofMember,
  says: 'A user joined a team',
  data: { userId: text, role: text },
})
export const memberRoleChanged = define('member.role_changed', {
  ...ofMember,
  says: 'The role of a member changed',
  data: { userId: text, from: text, to: text },
})
export const memberRemoved = define('member.removed', {
  ...ofMember,
  says: 'A member left a team or was removed from it',
  data: { userId: text },
})
