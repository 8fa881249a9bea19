import { roles } from '../../auth/policy.ts'
import {
  email,
  id,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  recordFields,
  type Static,
  text,
  url,
} from '../../schema.ts'

const role = oneOf(roles)
const name = text(100, { example: 'Analytical Engines' })

export const Invite = object({
  ...recordFields,
  organization: object({ id: id(), name }),
  email: email(),
  role,
  invitedBy: nullable(object({ id: id(), name: text(100, { example: 'Ada Lovelace' }) })),
  expiresAt: instant(),
  acceptedAt: nullable(instant()),
})
export type Invite = Static<typeof Invite>

export const InviteSent = object({
  ...Invite.properties,
  link: optional(
    url({
      example: 'https://tutti.example.com/invite#svc_inv_…',
      description:
        'Only without a mail server, and only in a browser: pass it on to the person yourself. It is shown once and ' +
        'does not confirm their address',
    }),
  ),
  detail: optional(
    text(1000, { description: 'How to get the link, if there is no mail server and the link is not shown' }),
  ),
})
export type InviteSent = Static<typeof InviteSent>

export const InviteCreate = object({
  email: email(),
  role: optional(oneOf(roles, { default: 'member', description: 'Default: member. Only owners can invite owners' })),
})
export type InviteCreate = Static<typeof InviteCreate>

export const InviteQuery = object(paging('createdAt'))
export type InviteQuery = Static<typeof InviteQuery>
export const InvitePage = pageOf(Invite)
export type InvitePage = Static<typeof InvitePage>

/** Shown to everyone who has the mailed link, with or without an account. */
export const InvitePreview = object({
  organization: object({ name }),
  email: email(),
  role,
  invitedBy: nullable(object({ name: text(100, { example: 'Ada Lovelace' }) })),
  expiresAt: instant(),
})
export type InvitePreview = Static<typeof InvitePreview>

const token = text(100, { minLength: 1, example: 'svc_inv_…', description: 'From the mailed link' })
export const InviteToken = object({ token })
export const InviteRef = object({
  token: text(100, {
    minLength: 1,
    example: 'svc_inv_…',
    description: "From the mailed link; or the invite's id, once your address is confirmed",
  }),
})
