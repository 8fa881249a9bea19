import type { Ctx } from '../../action.ts'
import { CODE_MINUTES, minutesAfter } from '../../auth/one-time-secrets.ts'
import type { MailMessage } from '../mail/message.ts'

export const LINK_MINUTES = 15

export const codeMail = (ctx: Ctx, to: string, code: string): MailMessage => ({
  to,
  kind: 'code',
  subject: 'Your sign-in code',
  lines: ['Enter this code on the page where you are signing in:'],
  code,
  notes: [
    `The code works once and expires after ${CODE_MINUTES} minutes.`,
    'No one from Tutti will ever ask you for this code. If you did not request it, ignore this mail.',
  ],
  expiresAt: minutesAfter(ctx.now, CODE_MINUTES),
})

/** The secret is in the fragment, which is not sent to servers, proxies or in a Referer. */
export const linkMail = (ctx: Ctx, to: string, secret: string): MailMessage => ({
  to,
  kind: 'magic_link',
  subject: 'Your sign-in link',
  lines: ['Open this link in the browser where you requested it:'],
  button: { label: 'Sign in', url: `${ctx.app.url}/magic#${secret}` },
  notes: [
    `The link works once and expires after ${LINK_MINUTES} minutes. ` +
      'In another browser, it shows a code that you enter in the first one.',
    'If you did not request this link, ignore this mail and do not share the link or its code.',
  ],
  expiresAt: minutesAfter(ctx.now, LINK_MINUTES),
})
