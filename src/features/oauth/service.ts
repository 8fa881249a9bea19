import { randomBytes } from 'node:crypto'
import { type Ctx, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { issueSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import { anyone, authorize, recent } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { capitalizeFirst } from '../../text/text.ts'
import { confirmAccountError, isAccountQuestion } from '../accounts/confirm-account.ts'
import { countSignIn } from '../accounts/people.ts'
import type { SignedIn } from '../accounts/schema.ts'
import { mailAnswer } from '../mail/service.ts'
import { settingsOf } from '../settings/values.ts'
import { enterWithIdentity, linkIdentity } from './identities.ts'
import {
  type Attempt,
  authorizationUrlAt,
  configuredProviders,
  fetchIdentity,
  type Identity,
  providerNames,
  requireConfigured,
} from './providers.ts'
import type { CallbackQuery, Provider, SignInWays, StartQuery } from './schema.ts'

export { disconnect, listConnected } from './identities.ts'

/** Time limit for the user's sign-in at the provider. */
export const SIGN_IN_MINUTES = 10
const RECENT_MINUTES = 5

export const listSignInWays = read(
  'oauth.ways',
  anyone,
  async (ctx, _: Record<string, never>): Promise<SignInWays> => ({
    password: true,
    code: true,
    magicLink: true,
    passkey: true,
    registration: (await settingsOf(ctx)).registration.open ? 'open' : 'closed',
    mail: mailAnswer(ctx),
    oauth: configuredProviders(ctx.app.config),
  }),
)

// ---- redirect to a provider

/** Stored until the callback. */
type AttemptData = {
  provider: Provider
  returnTo: string
  nonce: string
  verifier: string
  /** The session that wants the identity connected to its account. */
  sessionId?: string
}

/** Seals the verifier, which together with the code gives access to the identity. */
const storeAttempt = write(
  'oauth.remember',
  anyone,
  (ctx, { browser, ...remembered }: AttemptData & { browser: string }): Promise<string> =>
    issueSecret(ctx, {
      purpose: 'oauth',
      minutes: SIGN_IN_MINUTES,
      boundTo: browser,
      userId: remembered.sessionId ? userIdOf(ctx.actor) : null,
      data: { ...remembered, verifier: ctx.app.seal.close(remembered.verifier) },
    }),
)

interface Start extends StartQuery {
  provider: Provider
  /** Value of the cookie that marks the browser. */
  browser: string
  /** `Sec-Fetch-Site`, if the browser sends it. */
  site: string | null
  /** The request comes from a browser, so errors lead to the sign-in page instead of JSON. */
  page: boolean
}

/** Returns the address to redirect the browser to. */
export const start = flow(
  'oauth.start',
  anyone,
  async (
    ctx,
    { provider, link, returnTo = link ? '/settings/accounts' : '/', browser, site, page }: Start,
  ): Promise<string> => {
    requireConfigured(ctx.app, provider)
    try {
      if (link) requireLinker(ctx, site)
      const addressFor = await authorizationUrlAt(ctx.app, provider)
      const [nonce, verifier] = [random(), random()]
      const sessionId = link && (ctx.actor.credentialId as string)
      const state = await storeAttempt(ctx, { provider, returnTo, nonce, verifier, sessionId, browser })
      return addressFor({ state, nonce, verifier })
    } catch (error) {
      if (!page || !(error instanceof AppError)) throw error
      return `/login?next=${encodeURIComponent(returnTo)}#error=${error.code}`
    }
  },
)

const random = (): string => randomBytes(32).toString('base64url')

/**
 * Another site must not make a user connect an identity: it may have signed them in to its own identity.
 */
function requireLinker({ actor, app }: Ctx, site: string | null): void {
  authorize(actor, recent(RECENT_MINUTES), 'oauth.link', app.clock)
  if (site !== null && site !== 'same-origin' && site !== 'none')
    throw new AppError('forbidden.origin', 'You can only connect an account from a page of this server.')
}

// ---- callback

interface AttemptReturn {
  provider: Provider
  state?: string
  browser: string
}

/** Throws one error for all cases: unknown, used, expired, another browser or another provider. */
const redeemAttempt = write(
  'oauth.recall',
  anyone,
  async (ctx, { provider, state, browser }: AttemptReturn): Promise<AttemptData & Attempt> => {
    const found = state && browser ? await redeemSecret(ctx, 'oauth', state, browser) : undefined
    const remembered = found?.data as AttemptData | undefined
    const verifier = remembered && ctx.app.seal.open(remembered.verifier)
    if (!state || !verifier || remembered.provider !== provider)
      throw new AppError(
        'invalid.malformed',
        `This sign-in was started in another browser, was used, or is older than ${SIGN_IN_MINUTES} minutes. Start again.`,
      )
    return { ...remembered, state, verifier }
  },
)

interface Callback {
  provider: Provider
  query: CallbackQuery
  browser: string
  /** Value of the cookie that marks the browser while it is asked who created the account. */
  confirming: string
  /** Response format that the caller accepts. */
  wants: 'page' | 'json' | 'any'
}

export interface Outcome {
  location: string
  signedIn?: SignedIn
  /** The page at `location` asks who created the account. */
  asks?: true
}

export const callback = flow(
  'oauth.callback',
  anyone,
  async (ctx, { provider, query, browser, confirming, wants }: Callback): Promise<Outcome> => {
    requireConfigured(ctx.app, provider)
    await countSignIn(ctx)
    const { returnTo, sessionId, ...attempt } = await redeemAttempt(ctx, { provider, state: query.state, browser })
    const failed = (reason: string): Outcome => ({ location: `${sessionId ? returnTo : '/login'}#error=${reason}` })
    if (query.error !== undefined) {
      if (wants !== 'json') return failed(query.error === 'access_denied' ? 'access_denied' : 'provider_error')
      throw new AppError(
        'forbidden',
        `${capitalizeFirst(providerNames[provider])} refused the sign-in. Start again, and allow access there.`,
      )
    }
    try {
      const identity = await fetchIdentity(ctx.app, provider, query, attempt)
      if (!sessionId) return await signInWith(ctx, identity, { browser: confirming, returnTo, wants })
      await linkIdentity(ctx, { identity, sessionId })
      return { location: returnTo }
    } catch (error) {
      if (wants !== 'page' || !(error instanceof AppError)) throw error
      return failed(error.code)
    }
  },
)

const ASKING = '/confirm-account'

async function signInWith(
  ctx: Ctx,
  identity: Identity,
  { browser, returnTo, wants }: { browser: string; returnTo: string; wants: Callback['wants'] },
): Promise<Outcome> {
  const entered = await enterWithIdentity(ctx, { identity, browser })
  if (isAccountQuestion(entered)) {
    if (wants !== 'page') throw confirmAccountError(entered)
    // That page itself sends users to a provider, to prove who they are.
    const page = returnTo.startsWith(ASKING) ? returnTo : `${ASKING}?next=${encodeURIComponent(returnTo)}`
    return { location: `${page}#${entered.ticket}`, asks: true }
  }
  const { signedIn, registered } = entered
  // As after registration by e-mail, new users begin with the first steps, unless they came for a certain page.
  return { location: registered && returnTo === '/' ? '/welcome' : returnTo, signedIn }
}
