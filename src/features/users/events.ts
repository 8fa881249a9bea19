import { define, flag, text, texts } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

/** Each of these can end or change what a credential may do. */
const ofUser = { kind: 'user', told: 'access', changes: 'rights' } as const

export const userRegistered = define('user.registered', {
  ...ofUser,
  says: 'Somebody has an account now',
  data: { role: text },
})
export const userUpdated = define('user.updated', { ...ofUser, says: 'A profile changed', data: { fields: texts } })
export const userDeleted = define('user.deleted', { ...ofUser, says: 'An account was deleted' })
export const userOnboarded = define('user.onboarded', { ...ofUser, says: 'Somebody finished the first steps' })
export const userPreferencesChanged = define('user.preferences_changed', {
  ...ofUser,
  says: 'Preferences changed',
  data: { fields: texts },
})
/** `from` and `to`, or only `role` where the machine's owner made somebody an administrator. */
export const userRoleChanged = define('user.role_changed', {
  ...ofUser,
  says: 'Somebody became an administrator of the instance, or is none any more',
  data: { from: optional(text), to: optional(text), role: optional(text) },
})
export const userSuspended = define('user.suspended', {
  ...ofUser,
  says: 'An administrator suspended an account, which ended its credentials',
  data: { reason: optional(text) },
})
export const userUnsuspended = define('user.unsuspended', { ...ofUser, says: 'A suspended account works again' })
export const userCodeRead = define('user.code_read', {
  ...ofUser,
  says: 'An administrator read somebody’s sign-in code',
})
export const userImpersonated = define('user.impersonated', {
  ...ofUser,
  says: 'An administrator began to act as somebody',
  data: { reason: text, until: text },
})
export const userSignedIn = define('user.signed_in', {
  ...ofUser,
  says: 'Somebody signed in',
  data: { via: text, userAgent: nullable(text) },
})
export const userRefreshed = define('user.refreshed', { ...ofUser, says: 'A session was renewed' })
export const userEmailVerified = define('user.email_verified', {
  ...ofUser,
  says: 'Somebody proved that an address is theirs',
})
export const userEmailChangeRequested = define('user.email_change_requested', {
  ...ofUser,
  says: 'Somebody asked to change their address',
})
export const userEmailChanged = define('user.email_changed', { ...ofUser, says: 'An account has another address' })
export const userEmailRestored = define('user.email_restored', {
  ...ofUser,
  says: 'A change of address was undone, which ended all credentials',
})
export const userPasswordChanged = define('user.password_changed', {
  ...ofUser,
  says: 'Somebody changed their password',
  data: { keysKept: flag },
})
export const userPasswordReset = define('user.password_reset', {
  ...ofUser,
  says: 'A password was set anew, which ended all credentials',
  data: { forced: optional(flag) },
})

/** Sessions of logins; those of work are events of `sessions`. */
const ofLogin = { kind: 'login_session', told: 'access', changes: 'rights' } as const

export const sessionRevoked = define('session.revoked', {
  ...ofLogin,
  says: 'A login session ended',
  data: { reason: text },
})
export const sessionConfirmed = define('session.confirmed', {
  ...ofLogin,
  says: 'Somebody confirmed in a session who they are',
})

const ofSignIn = { kind: 'auth', told: 'access' } as const

export const signInFailed = define('auth.sign_in_failed', {
  ...ofSignIn,
  says: 'An attempt to sign in failed',
  data: { via: optional(text) },
})
export const codeRequested = define('auth.code_requested', { ...ofSignIn, says: 'A sign-in code was asked for' })
export const linkRequested = define('auth.link_requested', { ...ofSignIn, says: 'A sign-in link was asked for' })
export const resetRequested = define('auth.reset_requested', { ...ofSignIn, says: 'A password reset was asked for' })
