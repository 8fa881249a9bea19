import { type Http, on } from '../../http/context.ts'
import { clearCookies, setCookies } from '../../http/cookies.ts'
import { cookieOf, REFRESH_COOKIE } from '../../http/guard.ts'
import { LoggedOut, Login, ProfilePatch, Refresh, Register, RoleAnswer, Setup, SignedIn, User } from './schema.ts'
import * as accounts from './service.ts'
import * as sessions from './sessions.ts'

export const accountRoutes = (http: Http) =>
  http
    .post('/api/setup', async ({ ctx, body, set, app }) => setCookies(set, app.config, 201, await accounts.setup(ctx, body)), {
      ...on(accounts.setup, 'Create the first administrator with the one-time set-up link'),
      body: Setup,
      response: { 201: SignedIn },
    })
    .post('/api/auth/register', async ({ ctx, body, set, app }) => setCookies(set, app.config, 201, await accounts.register(ctx, body)), {
      ...on(accounts.register, 'Create an account'),
      body: Register,
      response: { 201: SignedIn },
    })
    .post('/api/auth/login', async ({ ctx, body, set, app }) => setCookies(set, app.config, 200, await accounts.login(ctx, body)), {
      ...on(accounts.login, 'Sign in with e-mail and password'),
      body: Login,
      response: SignedIn,
    })
    .post(
      '/api/auth/refresh',
      async ({ ctx, body, set, request, app }) =>
        setCookies(
          set,
          app.config,
          200,
          await sessions.refresh(ctx, { refreshToken: body.refreshToken ?? cookieOf(request, app.config, REFRESH_COOKIE) }),
        ),
      { ...on(sessions.refresh, 'Exchange a refresh token for a new pair'), body: Refresh, response: SignedIn },
    )
    .post('/api/auth/logout', async ({ ctx, set, app }) => clearCookies(set, app.config, await sessions.logout(ctx, {})), {
      ...on(sessions.logout, 'End this session'),
      response: LoggedOut,
    })
    .get('/api/auth/me', ({ ctx }) => accounts.me(ctx, {}), { ...on(accounts.me, 'Your account'), response: User })
    .get('/api/auth/me/role', ({ ctx }) => accounts.role(ctx, {}), {
      ...on(accounts.role, 'Your role on this instance'),
      response: RoleAnswer,
    })
    .patch('/api/auth/profile', ({ ctx, body }) => accounts.updateProfile(ctx, body), {
      ...on(accounts.updateProfile, 'Change your profile'),
      body: ProfilePatch,
      response: User,
    })
