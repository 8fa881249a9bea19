import { define, flag, text, texts } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

/** Each of these events can end a credential or change its rights. */
const ofUser = { kind: 'user', told: 'access', changes: 'rights' } as const

export const userRegistered = define('user.registered', {
  ...ofUser,
  says: 'A user registered',
  data: { role: text },
})
export const userUpdated = define('user.updated', { ...ofUser, says: 'A profile changed', data: { fields: texts } })
export const userDeleted = define('user.deleted', { ...ofUser, says: 'An account was deleted' })
export const userOnboarded = define('user.onboarded', { ...ofUser, says: 'A user completed onboarding' })
export const userPreferencesChanged = define('user.preferences_changed', {
  ...ofUser,
  says: 'Preferences changed',
  data: { fields: texts },
})
/** Has `from` and `to`, or only `role` if the command line made the user an administrator. */
export const userRoleChanged = define('user.role_changed', {
  ...ofUser,
  says: 'The role of a user on the instance changed',
  data: { from: optional(text), to: optional(text), role: optional(text) },
})
export const userSuspended = define('user.suspended', {
  ...ofUser,
  says: 'An administrator suspended an account and ended its credentials',
  data: { reason: optional(text) },
})
export const userUnsuspended = define('user.unsuspended', { ...ofUser, says: 'A suspended account was enabled again' })
export const userCodeRead = define('user.code_read', {
  ...ofUser,
  says: 'An administrator read the sign-in code of a user',
})
export const userImpersonated = define('user.impersonated', {
  ...ofUser,
  says: 'An administrator started to act as a user',
  data: { reason: text, until: text },
})
export const userSignedIn = define('user.signed_in', {
  ...ofUser,
  says: 'A user signed in',
  data: { via: text, userAgent: nullable(text) },
})
export const userRefreshed = define('user.refreshed', { ...ofUser, says: 'A session was renewed' })
export const userEmailVerified = define('user.email_verified', {
  ...ofUser,
  says: 'A user confirmed their e-mail address',
})
export const userEmailChangeRequested = define('user.email_change_requested', {
  ...ofUser,
  says: 'A user requested a change of their e-mail address',
})
export const userEmailChanged = define('user.email_changed', { ...ofUser, says: 'A user changed their e-mail address' })
export const userEmailRestored = define('user.email_restored', {
  ...ofUser,
  says: 'A change of e-mail address was undone, which ended all credentials',
})
export const userPasswordChanged = define('user.password_changed', {
  ...ofUser,
  says: 'A user changed their password',
  data: { keysKept: flag },
})
export const userPasswordReset = define('user.password_reset', {
  ...ofUser,
  says: 'A password was reset, which ended all credentials',
  data: { forced: optional(flag) },
})

/** Login sessions. Events of work sessions are defined in features/sessions. */
const ofLogin = { kind: 'login_session', told: 'access', changes: 'rights' } as const

export const sessionRevoked = define('session.revoked', {
  ...ofLogin,
  says: 'A login session ended',
  data: { reason: text },
})
export const sessionConfirmed = define('session.confirmed', {
  ...ofLogin,
  says: 'A user confirmed their identity in a login session',
})

const ofSignIn = { kind: 'auth', told: 'access' } as const

export const signInFailed = define('auth.sign_in_failed', {
  ...ofSignIn,
  says: 'An attempt to sign in failed',
  data: { via: optional(text) },
})
export const codeRequested = define('auth.code_requested', { ...ofSignIn, says: 'A sign-in code was requested' })
export const linkRequested = define('auth.link_requested', { ...ofSignIn, says: 'A sign-in link was requested' })
export const resetRequested = define('auth.reset_requested', { ...ofSignIn, says: 'A password reset was requested' })
