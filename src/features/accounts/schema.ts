import { vias } from '../../auth/actor.ts'
import {
  bool,
  email,
  id,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  partial,
  type Static,
  text,
  yes,
} from '../../schema.ts'
import { MailAnswer } from '../mail/schema.ts'
import { User } from '../users/schema.ts'

const password = text(128, {
  minLength: 1,
  example: 'violet anchor prefers rain',
  description: 'At least 12 characters, administrators 15',
})
const linkToken = text(200, { example: 'svc_one_…', description: 'The part of the mailed link after #' })
const { name, handle } = User.properties

const newcomer = { email: email(), password, name }
export const Register = object(
  {
    ...newcomer,
    inviteToken: optional(
      text(100, {
        description:
          'From the mailed invitation. Allows registration even if it is closed, and adds the user to the team',
      }),
    ),
  },
  { examples: [{ email: 'ada@example.com', password: 'violet anchor prefers rain', name: 'Ada Lovelace' }] },
)
export type Register = Static<typeof Register>

export const Login = object({ email: email(), password })
export type Login = Static<typeof Login>

export const Refresh = object({
  refreshToken: optional(
    text(200, { description: 'Browsers may omit it, because they send it as a cookie', example: 'svc_ref_…' }),
  ),
})
export type Refresh = Static<typeof Refresh>

export const Setup = object({ token: text(200, { example: 'svc_set_…' }), ...newcomer })
export type Setup = Static<typeof Setup>

export const ProfilePatch = partial(
  object({
    name,
    handle,
    bio: nullable(text(2000)),
    timezone: nullable(text(64, { example: 'Europe/Berlin' })),
    locale: nullable(text(35, { example: 'de-DE' })),
  }),
)
export type ProfilePatch = Static<typeof ProfilePatch>

/** Response of every sign-in method. */
export const SignedIn = object({
  token: text(4000, { description: 'Access JWT, expires after 15 minutes', example: 'eyJhbGciOiJFZERTQSJ9.…' }),
  refreshToken: text(200, { description: 'Works once, to get the next pair of tokens', example: 'svc_ref_…' }),
  expiresAt: instant(),
  user: User,
})
export type SignedIn = Static<typeof SignedIn>

export const RoleAnswer = object({ role: oneOf(['user', 'admin']) })
export const LoggedOut = object({ id: id(), revoked: oneOf(['session']) })

// ---- passwords

export const ForgotPassword = object({ email: email() })
export type ForgotPassword = Static<typeof ForgotPassword>

export const ResetPassword = object({ token: linkToken, password })
export type ResetPassword = Static<typeof ResetPassword>
export const PasswordReset = object({ reset: yes() })

export const ChangePassword = object({
  currentPassword: optional(
    text(128, { example: 'violet anchor prefers rain', description: 'Required if the account has a password' }),
  ),
  newPassword: text(128, {
    minLength: 1,
    example: 'seven quiet lamps at dusk',
    description: 'At least 12 characters, administrators 15',
  }),
  keepKeys: optional(
    bool({ description: 'Keep API keys and MCP tokens; requires a confirmed identity in the last 5 minutes' }),
  ),
})
export type ChangePassword = Static<typeof ChangePassword>

export const Reauth = object({
  password: optional(
    text(128, { minLength: 1, example: 'violet anchor prefers rain', description: 'Either this or a code' }),
  ),
  code: optional(
    text(6, { pattern: '^[0-9]{6}$', example: '042917', description: 'The code mailed by POST /api/auth/otp/send' }),
  ),
})
export type Reauth = Static<typeof Reauth>
export const Confirmed = object({ authenticatedAt: instant() })
export type Confirmed = Static<typeof Confirmed>

// ---- who created an account

export const ConfirmAccount = object({
  ticket: text(200, { example: 'svc_one_…', description: 'From the response conflict.confirm_account' }),
  password: optional(
    text(128, { minLength: 1, example: 'violet anchor prefers rain', description: 'Keeps all access and signs in' }),
  ),
  keep: optional(
    yes({
      description: 'Keeps all access. Requires a session from a later sign-in with a passkey or a connected identity',
    }),
  ),
  remove: optional(yes({ description: 'Removes all access that `holds` lists, and signs in. Records are kept' })),
})
export type ConfirmAccount = Static<typeof ConfirmAccount>

// ---- e-mail addresses

export const VerifyEmail = object({ token: optional(linkToken) })
export type VerifyEmail = Static<typeof VerifyEmail>
export const VerifyAnswer = object({ ...partial(MailAnswer).properties, verified: optional(yes()) })
export type VerifyAnswer = Static<typeof VerifyAnswer>

export const ChangeEmail = object({ email: email() })
export type ChangeEmail = Static<typeof ChangeEmail>
export const LinkToken = object({ token: linkToken })
export type LinkToken = Static<typeof LinkToken>
export const EmailChanged = object({ changed: yes() })
export const EmailRestored = object({ restored: yes() })

// ---- deleting an account

export const RemoveAccount = object({
  confirm: text(254, { example: 'ada@example.com', description: 'Your e-mail address, as confirmation' }),
})
export type RemoveAccount = Static<typeof RemoveAccount>

// ---- sessions

export const LoginSession = object({
  id: id(),
  via: oneOf(vias),
  device: nullable(text(100, { description: 'Name that the client chose for itself' })),
  userAgent: nullable(text(300)),
  ip: nullable(text(64)),
  createdAt: instant(),
  lastSeenAt: instant(),
  expiresAt: instant(),
  current: bool({ description: 'The session of this request' }),
  impersonated: bool({ description: 'An administrator acts as you in this session' }),
})
export type LoginSession = Static<typeof LoginSession>
export const SessionQuery = object(paging('createdAt', 'lastSeenAt'))
export type SessionQuery = Static<typeof SessionQuery>
export const SessionPage = pageOf(LoginSession)
export type SessionPage = Static<typeof SessionPage>
