import { type Http, on, respondCreated } from '../../http/context.ts'
import { setCookies } from '../../http/cookies.ts'
import { Deleted, id, object } from '../../schema.ts'
import { SignedIn } from '../accounts/schema.ts'
import {
  AuthenticationBegin,
  AuthenticationBegun,
  AuthenticationFinish,
  Passkey,
  PasskeyPage,
  PasskeyPatch,
  PasskeyQuery,
  RegistrationBegun,
  RegistrationFinish,
} from './schema.ts'
import * as passkeys from './service.ts'

const byId = object({ id: id() })

export const passkeyRoutes = (http: Http) =>
  http
    .post('/api/auth/passkey/register/begin', ({ ctx }) => passkeys.beginRegistration(ctx, {}), {
      ...on(passkeys.beginRegistration, 'Start adding a passkey'),
      response: RegistrationBegun,
    })
    .post(
      '/api/auth/passkey/register/finish',
      async ({ ctx, body, set }) =>
        respondCreated(set, '/api/settings/passkeys', await passkeys.finishRegistration(ctx, body)),
      {
        ...on(passkeys.finishRegistration, 'Add the passkey that the browser created', { answers: [410] }),
        body: RegistrationFinish,
        response: { 201: Passkey },
      },
    )
    .post('/api/auth/passkey/authenticate/begin', ({ ctx, body }) => passkeys.beginAuthentication(ctx, body), {
      ...on(passkeys.beginAuthentication, 'Start signing in with a passkey'),
      body: AuthenticationBegin,
      response: AuthenticationBegun,
    })
    .post(
      '/api/auth/passkey/authenticate/finish',
      async ({ ctx, body, set, app }) =>
        setCookies(set, app.config, 200, await passkeys.finishAuthentication(ctx, body)),
      {
        ...on(passkeys.finishAuthentication, 'Sign in with the response of the passkey'),
        body: AuthenticationFinish,
        response: SignedIn,
      },
    )
    .get('/api/settings/passkeys', ({ ctx, query }) => passkeys.list(ctx, query), {
      ...on(passkeys.list, 'Your passkeys'),
      query: PasskeyQuery,
      response: PasskeyPage,
    })
    .patch('/api/settings/passkeys/:id', ({ ctx, params, body }) => passkeys.rename(ctx, { ...body, ...params }), {
      ...on(passkeys.rename, 'Rename a passkey'),
      params: byId,
      body: PasskeyPatch,
      response: Passkey,
    })
    .delete('/api/settings/passkeys/:id', ({ ctx, params }) => passkeys.remove(ctx, params), {
      ...on(passkeys.remove, 'Remove a passkey'),
      params: byId,
      response: Deleted,
    })
