import { defineEvent, text, texts } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofOrganization = { kind: 'organization', feed: 'access', changes: 'rights' } as const

export const organizationCreated = defineEvent('organization.created', {
  ...ofOrganization,
  description: 'A team was created',
  data: { name: text, userId: text },
  words: (_, { name }) => `created the team ${name}`,
})
export const organizationUpdated = defineEvent('organization.updated', {
  ...ofOrganization,
  description: 'The settings of a team changed',
  data: { fields: texts },
})
export const organizationPlanChanged = defineEvent('organization.plan_changed', {
  ...ofOrganization,
  description: 'An administrator changed the plan of a team',
  data: { userId: text, plan: optional(text), status: optional(text) },
  words: (_, { plan, status }) => `changed the plan of a team to ${[plan, status].filter(Boolean).join(', ')}`,
})
export const organizationDeleted = defineEvent('organization.deleted', {
  ...ofOrganization,
  deletes: true,
  description: 'A team was deleted',
  data: { name: text },
  words: (_, { name }) => `deleted the team ${name}`,
})

const ofMember = { kind: 'member', feed: 'access', changes: 'rights' } as const

export const memberAdded = defineEvent('member.added', {
  ...ofMember,
  description: 'A user joined a team',
  data: { userId: text, role: text },
  words: (what, { role }) => `added ${what} to a team as ${role}`,
})
export const memberRoleChanged = defineEvent('member.role_changed', {
  ...ofMember,
  description: 'The role of a member changed',
  data: { userId: text, from: text, to: text },
  words: (what, { from, to }) => `changed the role of ${what} in a team from ${from} to ${to}`,
})
export const memberRemoved = defineEvent('member.removed', {
  ...ofMember,
  description: 'A member left a team or was removed from it',
  data: { userId: text },
  words: (what) => `removed ${what} from a team`,
})
