import { defineEvent, flag, text, texts } from '../../events/catalogue.ts'
import { stateName } from '../../events/words.ts'
import { nullable, optional } from '../../schema.ts'

/** Each of these events can end a credential or change its rights. */
const ofUser = { kind: 'user', feed: 'access', changes: 'rights' } as const

export const userRegistered = defineEvent('user.registered', {
  ...ofUser,
  description: 'A user registered',
  data: { role: text },
  words: (what) => (what === 'their account' ? 'registered' : `created an account: ${what}`),
})
export const userUpdated = defineEvent('user.updated', {
  ...ofUser,
  description: 'A profile changed',
  data: { fields: texts },
})
export const userDeleted = defineEvent('user.deleted', {
  ...ofUser,
  deletes: true,
  description: 'An account was deleted',
})
export const userOnboarded = defineEvent('user.onboarded', {
  ...ofUser,
  description: 'A user completed onboarding',
  words: () => 'completed the first steps',
})
export const userPreferencesChanged = defineEvent('user.preferences_changed', {
  ...ofUser,
  description: 'Preferences changed',
  data: { fields: texts },
  words: () => 'changed their preferences',
})
/** Has `from` and `to`, or only `role` if the command line made the user an administrator. */
export const userRoleChanged = defineEvent('user.role_changed', {
  ...ofUser,
  description: 'The role of a user on the instance changed',
  data: { from: optional(text), to: optional(text), role: optional(text) },
  words: (what, { from, to, role }) =>
    `changed the role of ${what}${from ? ` from ${from}` : ''} to ${to ?? role ?? 'another one'}`,
})
export const userSuspended = defineEvent('user.suspended', {
  ...ofUser,
  description: 'An administrator suspended an account and ended its credentials',
  data: { reason: optional(text) },
  words: (what, { reason }) => `suspended ${what}${reason ? `: ${reason}` : ''}`,
})
export const userUnsuspended = defineEvent('user.unsuspended', {
  ...ofUser,
  description: 'A suspended account was enabled again',
  words: (what) => `ended the suspension of ${what}`,
})
export const userCodeRead = defineEvent('user.code_read', {
  ...ofUser,
  description: 'An administrator read the sign-in code of a user',
  words: (what) => `read the sign-in code of ${what}`,
})
export const userImpersonated = defineEvent('user.impersonated', {
  ...ofUser,
  description: 'An administrator started to act as a user',
  data: { reason: text, until: text },
  words: (what, { reason }) => `started to act as ${what}${reason ? `: ${reason}` : ''}`,
})
export const userSignedIn = defineEvent('user.signed_in', {
  ...ofUser,
  description: 'A user signed in',
  data: { via: text, userAgent: nullable(text) },
  words: (_, { via }) => `signed in${via ? ` (${stateName(via)})` : ''}`,
})
export const userRefreshed = defineEvent('user.refreshed', {
  ...ofUser,
  description: 'A session was renewed',
  words: () => 'renewed a session',
})
export const userEmailVerified = defineEvent('user.email_verified', {
  ...ofUser,
  description: 'A user confirmed their e-mail address',
  words: () => 'confirmed their e-mail address',
})
export const userAccountConfirmed = defineEvent('user.account_confirmed', {
  ...ofUser,
  description: 'The owner of a mailbox kept or removed the earlier access to an account with that unconfirmed address',
  data: { kept: flag },
  words: (what, { kept }) => `${kept ? 'kept' : 'removed'} the earlier access to ${what}`,
})
export const userEmailChangeRequested = defineEvent('user.email_change_requested', {
  ...ofUser,
  description: 'A user requested a change of their e-mail address',
  words: () => 'requested a change of their e-mail address',
})
export const userEmailChanged = defineEvent('user.email_changed', {
  ...ofUser,
  description: 'A user changed their e-mail address',
  words: () => 'changed their e-mail address',
})
export const userEmailRestored = defineEvent('user.email_restored', {
  ...ofUser,
  description: 'A change of e-mail address was undone, which ended all credentials',
  words: () => 'undid a change of their e-mail address',
})
export const userPasswordChanged = defineEvent('user.password_changed', {
  ...ofUser,
  description: 'A user changed their password',
  data: { keysKept: flag },
  words: () => 'changed their password',
})
export const userPasswordReset = defineEvent('user.password_reset', {
  ...ofUser,
  description: 'A password was reset, which ended all credentials',
  /** `linkReturned`: the administrator who forced it got the link, to pass it on. */
  data: { forced: optional(flag), linkReturned: optional(flag) },
  words: (what) => `reset the password of ${what}`,
})

/** Login sessions. Events of work sessions are defined in features/sessions. */
const ofLogin = { kind: 'login_session', feed: 'access', changes: 'rights' } as const

export const sessionRevoked = defineEvent('session.revoked', {
  ...ofLogin,
  description: 'A login session ended',
  data: { reason: text },
  words: (what, { reason }) => `ended a login session of ${what}${reason ? ` (${stateName(reason)})` : ''}`,
})
export const sessionConfirmed = defineEvent('session.confirmed', {
  ...ofLogin,
  description: 'A user confirmed their identity in a login session',
  words: () => 'confirmed their identity',
})

const ofSignIn = { kind: 'auth', feed: 'access' } as const

export const signInFailed = defineEvent('auth.sign_in_failed', {
  ...ofSignIn,
  description: 'An attempt to sign in failed',
  data: { via: optional(text) },
  words: (what) => `failed to sign in as ${what}`,
})
export const codeRequested = defineEvent('auth.code_requested', {
  ...ofSignIn,
  description: 'A sign-in code was requested',
  words: (what) => `requested a sign-in code for ${what}`,
})
export const linkRequested = defineEvent('auth.link_requested', {
  ...ofSignIn,
  description: 'A sign-in link was requested',
  words: (what) => `requested a sign-in link for ${what}`,
})
export const resetRequested = defineEvent('auth.reset_requested', {
  ...ofSignIn,
  description: 'A password reset was requested',
  words: (what) => `requested a new password for ${what}`,
})
