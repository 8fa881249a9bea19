import { browserMark, markBrowser, newMark, unmarkBrowser, withConfirmMark } from '../../http/browser.ts'
import { type Http, on, redirectTo } from '../../http/context.ts'
import { setCookies } from '../../http/cookies.ts'
import { Deleted } from '../../schema.ts'
import { SignedIn } from '../accounts/schema.ts'
import {
  ByProvider,
  CallbackQuery,
  ConnectedAccountPage,
  ConnectedAccountQuery,
  SignInWays,
  Started,
  StartQuery,
} from './schema.ts'
import * as oauth from './service.ts'

/** Browsers that open the address accept HTML; programs that want the result accept JSON. */
const wants = ({ headers }: Request): 'page' | 'json' | 'any' => {
  const accept = headers.get('accept') ?? ''
  return accept.includes('text/html') ? 'page' : accept.includes('application/json') ? 'json' : 'any'
}

const MARK = 'tutti_oauth'
const elsewhere = { answers: [302, 502, 504] }

export const oauthRoutes = (http: Http) =>
  http
    .get('/api/auth/providers', ({ ctx }) => oauth.listSignInWays(ctx, {}), {
      ...on(oauth.listSignInWays, 'Sign-in methods of this server'),
      response: SignInWays,
    })
    .get(
      '/api/auth/oauth/:provider',
      async ({ ctx, params, query, request, set, app }) => {
        const wanted = wants(request)
        const site = request.headers.get('sec-fetch-site')
        const browser = newMark()
        const location = await oauth.start(ctx, { ...params, ...query, browser, site, page: wanted === 'page' })
        markBrowser(set, app.config, MARK, browser, oauth.SIGN_IN_MINUTES)
        return wanted === 'json' ? { location } : redirectTo(set, location)
      },
      {
        ...on(
          oauth.start,
          'Redirect to a provider to sign in; with Accept: application/json, return its address',
          elsewhere,
        ),
        params: ByProvider,
        query: StartQuery,
        response: Started,
      },
    )
    .get(
      '/api/auth/oauth/:provider/callback',
      async ({ ctx, params, query, request, set, app }) => {
        const wanted = wants(request)
        const browser = browserMark(request, app.config, MARK)
        const { location, signedIn } = await withConfirmMark({ request, set, app }, (confirming) =>
          oauth.callback(ctx, { ...params, query, browser, confirming, wants: wanted }),
        )
        if (signedIn) setCookies(set, app.config, 200, signedIn)
        unmarkBrowser(set, app.config, MARK)
        return wanted === 'json' && signedIn ? signedIn : redirectTo(set, location)
      },
      {
        ...on(oauth.callback, 'Return from a provider; with Accept: application/json, return the session', elsewhere),
        params: ByProvider,
        query: CallbackQuery,
        response: SignedIn,
      },
    )
    .get('/api/settings/connected-accounts', ({ ctx, query }) => oauth.listConnected(ctx, query), {
      ...on(oauth.listConnected, 'Your identities at sign-in providers'),
      query: ConnectedAccountQuery,
      response: ConnectedAccountPage,
    })
    .delete('/api/settings/connected-accounts/:provider', ({ ctx, params }) => oauth.disconnect(ctx, params), {
      ...on(oauth.disconnect, 'Disconnect an identity of a sign-in provider'),
      params: ByProvider,
      response: Deleted,
    })
