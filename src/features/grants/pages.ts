import { programsSignIn } from '../../address.ts'
import { AppError } from '../../errors.ts'
import type { SiteFormHandler, SitePageRenderer, SiteResponse } from '../../feature.ts'
import { html, pageHeaders, pageShell } from '../../pages/pages.ts'
import { OAuthError } from './clients.ts'
import { formTarget } from './redirects.ts'
import { callbackUrl, checkRequest, RefusedRequest } from './requests.ts'
import { consent } from './service.ts'

const redirect = (location: string): SiteResponse => ({
  status: 303,
  headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  body: null,
})

const headers = (forms: string) => ({ ...pageHeaders(forms), 'cache-control': 'no-store' })

/** The page for a refused request. It does not redirect. */
const problemAnswer = (text: string, status = 400): SiteResponse => ({
  status,
  headers: headers("'none'"),
  body: pageShell(
    'Not connected · Tutti',
    `<h1>This program cannot be authorized</h1><p class="lead">${html(text)}</p>
<p class="lead">Nothing was changed. Go back to the program and start again, or connect it with a token, as described in
<a href="/manual/mcp">the manual</a>.</p>`,
    { kind: 'enter' },
  ),
})

/** The script shows the question, because it knows the signed-in user and renews their session. */
const questionAnswer = (target: string): SiteResponse => ({
  status: 200,
  // Without a referrer, a browser would hide the origin of the form, which the server checks.
  headers: { ...headers(`'self' ${target}`), 'referrer-policy': 'same-origin' },
  body: pageShell(
    'Authorize a program · Tutti',
    `<h1>Authorize a program?</h1><form method="post" action="/oauth/consent"><p class="lead">One moment…</p>
<p role="alert"></p></form><noscript><p role="alert">This page needs JavaScript.</p></noscript>`,
    { script: '/assets/consent.js', kind: 'enter' },
  ),
})

/**
 * Answers an invalid request. Redirects only to programs that an administrator added: anyone can register a program,
 * and could otherwise use links to this server as an open redirect.
 */
const refuseRequest = ({ from, code, message }: RefusedRequest, base: string): SiteResponse =>
  from.client.kind === 'added'
    ? redirect(callbackUrl(from, base, { error: code, error_description: message }))
    : problemAnswer(`The program sent a request that this server does not accept (${code}). ${message}`)

const authorizeAnswer: SitePageRenderer = async (ctx, { query, base }) => {
  if (!programsSignIn(ctx.app)) return undefined
  try {
    const { redirectUri } = await checkRequest(ctx, base, query)
    return questionAnswer(formTarget(redirectUri))
  } catch (error) {
    if (error instanceof RefusedRequest) return refuseRequest(error, base)
    if (error instanceof OAuthError) return problemAnswer(error.message, error.status)
    throw error
  }
}

const receiveConsent: SiteFormHandler = async (_, fields, { base, signedIn }) => {
  const ctx = await signedIn()
  if (!programsSignIn(ctx.app)) throw new AppError('not_found', 'Sign-in by programs is turned off on this server.')
  const { location } = await consent(ctx, { ticket: fields.get('ticket') ?? '', base })
  return redirect(location)
}

export const grantPages = { '/oauth/authorize': authorizeAnswer }
export const grantForms = { '/oauth/consent': receiveConsent }
