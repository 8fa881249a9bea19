import type { Ctx } from '../../action.ts'
import { check } from '../../check.ts'
import { AppError } from '../../errors.ts'
import type { SiteFormHandler, SitePageRenderer, SiteResponse } from '../../feature.ts'
import { html } from '../../pages/pages.ts'
import { renderPage } from '../site/frame.ts'
import { contentSecurityPolicy } from '../site/serve.ts'
import { ContactSend } from './schema.ts'
import { send, token } from './service.ts'

const names = ['name', 'email', 'subject', 'message'] as const
type Values = Partial<Record<(typeof names)[number] | 'token' | 'website', string>>

/** Each form has its own token, so the page is not cached. Without a referrer, a browser would hide its origin. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
}

const field = (name: (typeof names)[number], label: string, value = '', more = ''): string =>
  `<label>${label} <input name="${name}" value="${html(value)}" ${more}></label>`

const lead = '<p class="lead">Write to the people who run this site.</p>'

const form = (secret: string, values: Values, problem?: string): string => `<h1>Contact</h1>
${problem ? `<p class="warn" role="alert">${html(problem)}</p>` : lead}
<form method="post" action="/contact">
${field('name', 'Your name', values.name, 'maxlength="100" autocomplete="name"')}
${field('email', 'Your e-mail address', values.email, 'type="email" required maxlength="254" autocomplete="email"')}
${field('subject', 'Subject', values.subject, 'maxlength="200"')}
<label>Message <textarea name="message" rows="8" required minlength="10"
maxlength="5000">${html(values.message ?? '')}</textarea></label>
<p class="trap" aria-hidden="true"><label for="website">Leave this empty</label>
<input id="website" name="website" tabindex="-1" autocomplete="off"></p>
<input type="hidden" name="token" value="${html(secret)}"><button type="submit">Send</button></form>`

const contactResponse = async (ctx: Ctx, status: number, body: string): Promise<SiteResponse> => ({
  status,
  headers,
  body: await renderPage(ctx, { title: 'Contact', path: '/contact', body }),
})

const showForm: SitePageRenderer = async (ctx) => contactResponse(ctx, 200, form((await token(ctx, {})).token, {}))

/** Receives the form without a script. An error is shown above the form, which keeps its values. */
const receiveForm: SiteFormHandler = async (ctx, fields) => {
  const values: Values = {}
  for (const name of [...names, 'token', 'website'] as const) {
    // Browsers send lines with CR LF.
    const value = fields.get(name)?.replaceAll('\r\n', '\n')
    if (value) values[name] = value
  }
  const [problem] = check(ContactSend, values)
  const again = async (status: number, text: string) =>
    contactResponse(ctx, status, form((await token(ctx, {})).token, values, text))
  if (problem) return again(422, problem.message)
  try {
    await send(ctx, values as ContactSend)
  } catch (error) {
    if (error instanceof AppError && error.code === 'rate_limited') return again(429, error.message)
    throw error
  }
  return contactResponse(
    ctx,
    200,
    '<h1>Thank you</h1><p>Your message was received.</p><p><a href="/">Back to the site</a></p>',
  )
}

export const contactPages = { '/contact': showForm }
export const contactForms = { '/contact': receiveForm }
