import {
  array,
  bool,
  email,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
  title,
  url,
} from '../../schema.ts'
import { Invite, InviteCreate } from '../invites/schema.ts'
import { Organization } from '../organizations/schema.ts'

export const Onboarding = object({
  onboardedAt: nullable(instant()),
  steps: array(
    object({ id: oneOf(['organization', 'invite', 'token', 'project', 'first_call', 'first_task']), done: bool() }),
    10,
  ),
})
export type Onboarding = Static<typeof Onboarding>

export const Onboard = object({
  organization: object({ name: title(100, { example: 'Analytical Engines' }) }),
  invites: optional(array(InviteCreate, 20)),
})
export type Onboard = Static<typeof Onboard>

export const Onboarded = object({
  organization: Organization,
  invites: array(Invite, 20),
  links: optional(
    array(object({ email: email(), link: url({ example: 'https://tutti.example.com/invite#svc_inv_…' }) }), 20, {
      description: 'Only without a mail server, and only in a browser: links to pass on. They are shown once',
    }),
  ),
  detail: optional(text(1000, { description: 'How to get the links, if there is no mail server and none is shown' })),
  onboardedAt: instant(),
})
export type Onboarded = Static<typeof Onboarded>
