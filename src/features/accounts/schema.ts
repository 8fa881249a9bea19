import { email, id, instant, nullable, object, oneOf, optional, partial, recordFields, type Static, text, title } from '../../schema.ts'

export const Preferences = object({
  currentOrganizationId: optional(id()),
  theme: optional(oneOf(['light', 'dark', 'system'])),
})
export type Preferences = Static<typeof Preferences>

const password = text(128, {
  minLength: 1,
  example: 'violet anchor prefers rain',
  description: 'At least 12 characters, administrators 15',
})
const name = title(100, { example: 'Ada Lovelace' })
const handle = text(63, { pattern: '^[a-z0-9](-?[a-z0-9])*$', example: 'ada' })

export const User = object({
  ...recordFields,
  email: email(),
  name,
  handle,
  avatarUrl: nullable(text(2000)),
  coverUrl: nullable(text(2000)),
  bio: nullable(text(2000)),
  timezone: nullable(text(64)),
  locale: nullable(text(35)),
  role: oneOf(['user', 'admin']),
  status: oneOf(['active', 'suspended']),
  emailVerifiedAt: nullable(instant()),
  onboardedAt: nullable(instant()),
  preferences: Preferences,
})
export type User = Static<typeof User>

export const Register = object({ email: email(), password, name })
export type Register = Static<typeof Register>

export const Login = object({ email: email(), password })
export type Login = Static<typeof Login>

export const Refresh = object({
  refreshToken: optional(text(200, { description: 'Browsers may leave it out: they hold it in a cookie', example: 'svc_ref_…' })),
})
export type Refresh = Static<typeof Refresh>

export const Setup = object({ token: text(200, { example: 'svc_set_…' }), ...Register.properties })
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

/** What every way in answers. */
export const SignedIn = object({
  token: text(4000, { description: 'Access JWT, 15 minutes', example: 'eyJhbGciOiJFZERTQSJ9.…' }),
  refreshToken: text(200, { description: 'Works once, for the next pair', example: 'svc_ref_…' }),
  expiresAt: instant(),
  user: User,
})
export type SignedIn = Static<typeof SignedIn>

export const RoleAnswer = object({ role: oneOf(['user', 'admin']) })
export const LoggedOut = object({ id: id(), revoked: oneOf(['session']) })
