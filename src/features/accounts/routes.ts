import { AppError } from '../../errors.ts'
import { confirmMark, withConfirmMark } from '../../http/browser.ts'
import { type Http, on } from '../../http/context.ts'
import { clearCookies, clearSignedInMark, setCookies } from '../../http/cookies.ts'
import { cookieOf, REFRESH_COOKIE } from '../../http/guard.ts'
import { Deleted, id, object } from '../../schema.ts'
import { MailAnswer } from '../mail/schema.ts'
import { PreferencesAnswer, PreferencesPatch, User } from '../users/schema.ts'
import { confirmAccount } from './confirm-account.ts'
import * as emails from './emails.ts'
import * as passwords from './passwords.ts'
import * as preferences from './preferences.ts'
import { reauth } from './reauth.ts'
import * as removal from './removal.ts'
import {
  ChangeEmail,
  ChangePassword,
  ConfirmAccount,
  Confirmed,
  EmailChanged,
  EmailRestored,
  ForgotPassword,
  LinkToken,
  LoggedOut,
  Login,
  PasswordReset,
  ProfilePatch,
  Reauth,
  Refresh,
  Register,
  RemoveAccount,
  ResetPassword,
  RoleAnswer,
  SessionPage,
  SessionQuery,
  Setup,
  SignedIn,
  VerifyAnswer,
  VerifyEmail,
} from './schema.ts'
import * as accounts from './service.ts'
import * as sessions from './sessions.ts'

export const accountRoutes = (http: Http) =>
  http
    .post(
      '/api/setup',
      async ({ ctx, body, set, app }) => setCookies(set, app.config, 201, await accounts.setup(ctx, body)),
      {
        ...on(accounts.setup, 'Create the first administrator with the one-time set-up link'),
        body: Setup,
        response: { 201: SignedIn },
      },
    )
    .post(
      '/api/auth/register',
      async ({ ctx, body, set, app }) => setCookies(set, app.config, 201, await accounts.register(ctx, body)),
      {
        ...on(accounts.register, 'Create an account'),
        body: Register,
        response: { 201: SignedIn },
      },
    )
    .post(
      '/api/auth/login',
      async ({ ctx, body, set, app }) => setCookies(set, app.config, 200, await accounts.login(ctx, body)),
      {
        ...on(accounts.login, 'Sign in with e-mail and password'),
        body: Login,
        response: SignedIn,
      },
    )
    .post(
      '/api/auth/refresh',
      async ({ ctx, body, set, request, app }) => {
        const refreshToken = body.refreshToken ?? cookieOf(request, app.config, REFRESH_COOKIE)
        const answer = await sessions.refresh(ctx, { refreshToken }).catch((error) => {
          // Other errors, such as a busy server, do not mean that the session is over.
          if (error instanceof AppError && error.code === 'unauthenticated') clearSignedInMark(set)
          throw error
        })
        return setCookies(set, app.config, 200, answer)
      },
      { ...on(sessions.refresh, 'Exchange a refresh token for a new pair'), body: Refresh, response: SignedIn },
    )
    .post(
      '/api/auth/logout',
      async ({ ctx, set, app }) => clearCookies(set, app.config, await sessions.logout(ctx, {})),
      {
        ...on(sessions.logout, 'End this session'),
        response: LoggedOut,
      },
    )
    .get('/api/auth/me', ({ ctx }) => accounts.me(ctx, {}), { ...on(accounts.me, 'Your account'), response: User })
    .get('/api/auth/me/role', ({ ctx }) => accounts.role(ctx, {}), {
      ...on(accounts.role, 'Your role on this server'),
      response: RoleAnswer,
    })
    .patch('/api/auth/profile', ({ ctx, body }) => accounts.updateProfile(ctx, body), {
      ...on(accounts.updateProfile, 'Change your profile'),
      body: ProfilePatch,
      response: User,
    })
    .post('/api/auth/forgot-password', ({ ctx, body }) => passwords.forgotPassword(ctx, body), {
      ...on(passwords.forgotPassword, 'Request a mail with a link to choose a new password'),
      body: ForgotPassword,
      response: MailAnswer,
    })
    .post(
      '/api/auth/reset-password',
      ({ ctx, body, set, request, app }) =>
        withConfirmMark({ request, set, app }, (browser) => passwords.resetPassword(ctx, { ...body, browser })),
      {
        ...on(passwords.resetPassword, 'Set a new password with the link from the mail; ends every credential'),
        body: ResetPassword,
        response: PasswordReset,
      },
    )
    .post(
      '/api/auth/confirm-account',
      async ({ ctx, body, set, request, app }) => {
        const browser = confirmMark({ request, set, app })
        return setCookies(set, app.config, 200, await confirmAccount(ctx, { ...body, browser }))
      },
      {
        ...on(confirmAccount, 'Say whether you created an account whose address was not confirmed, and sign in', {
          answers: [410],
        }),
        body: ConfirmAccount,
        response: SignedIn,
      },
    )
    .post(
      '/api/auth/change-password',
      async ({ ctx, body, set, app }) => setCookies(set, app.config, 200, await passwords.changePassword(ctx, body)),
      {
        ...on(passwords.changePassword, 'Change your password; ends every other credential'),
        body: ChangePassword,
        response: SignedIn,
      },
    )
    .post('/api/auth/reauth', ({ ctx, body }) => reauth(ctx, body), {
      ...on(reauth, 'Confirm your identity, for actions that require more than a session'),
      body: Reauth,
      response: Confirmed,
    })
    .post('/api/auth/verify-email', ({ ctx, body }) => emails.verifyEmail(ctx, body), {
      ...on(emails.verifyEmail, 'Request the mail that confirms your address, or confirm it with its link', {
        answers: [410],
      }),
      body: VerifyEmail,
      response: VerifyAnswer,
    })
    .post('/api/auth/email-change', ({ ctx, body }) => emails.changeEmail(ctx, body), {
      ...on(emails.changeEmail, 'Request a change of your e-mail address; the new address gets a link'),
      body: ChangeEmail,
      response: MailAnswer,
    })
    .post('/api/auth/email-change/confirm', ({ ctx, body }) => emails.confirmEmail(ctx, body), {
      ...on(emails.confirmEmail, 'Confirm the new e-mail address; ends every credential'),
      body: LinkToken,
      response: EmailChanged,
    })
    .post('/api/auth/email-change/undo', ({ ctx, body }) => emails.undoEmail(ctx, body), {
      ...on(emails.undoEmail, 'Restore the old e-mail address; ends every credential'),
      body: LinkToken,
      response: EmailRestored,
    })
    .delete(
      '/api/auth/account',
      async ({ ctx, body, set, app }) => clearCookies(set, app.config, await removal.removeAccount(ctx, body)),
      {
        ...on(removal.removeAccount, 'Delete your account permanently'),
        body: RemoveAccount,
        response: Deleted,
      },
    )
    .patch('/api/settings/profile', ({ ctx, body }) => accounts.updateSettingsProfile(ctx, body), {
      ...on(accounts.updateSettingsProfile, 'Change your profile'),
      body: ProfilePatch,
      response: User,
    })
    .get('/api/settings/preferences', ({ ctx }) => preferences.getPreferences(ctx, {}), {
      ...on(preferences.getPreferences, 'Your preferences'),
      response: PreferencesAnswer,
    })
    .patch('/api/settings/preferences', ({ ctx, body }) => preferences.updatePreferences(ctx, body), {
      ...on(preferences.updatePreferences, 'Change your preferences'),
      body: PreferencesPatch,
      response: PreferencesAnswer,
    })
    .get('/api/settings/sessions', ({ ctx, query }) => sessions.listSessions(ctx, query), {
      ...on(sessions.listSessions, 'Your login sessions'),
      query: SessionQuery,
      response: SessionPage,
    })
    .delete('/api/settings/sessions/:id', ({ ctx, params }) => sessions.endSession(ctx, params), {
      ...on(sessions.endSession, 'End a session'),
      params: object({ id: id() }),
      response: Deleted,
    })
