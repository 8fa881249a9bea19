import type { Ctx } from '../../action.ts'
import { after, CODE_MINUTES } from '../../auth/one-time-secrets.ts'
import type { Message } from '../mail/message.ts'

export const LINK_MINUTES = 15

export const codeMail = (ctx: Ctx, to: string, code: string): Message => ({
  to,
  kind: 'code',
  subject: 'Your sign-in code',
  lines: ['Enter this code where you are signing in:'],
  code,
  notes: [
    `It works once, for ${CODE_MINUTES} minutes.`,
    'Nobody from Tutti will ever ask you for it. If you did not request a code, ignore this mail and do not share it.',
  ],
  expiresAt: after(ctx.now, CODE_MINUTES),
})

/** The secret is in the fragment, which is not sent to servers, proxies or in a Referer. */
export const linkMail = (ctx: Ctx, to: string, secret: string): Message => ({
  to,
  kind: 'magic_link',
  subject: 'Your sign-in link',
  lines: ['Open this link in the browser where you requested it:'],
  button: { label: 'Sign in', url: `${ctx.app.url}/magic#${secret}` },
  notes: [
    `It works once, for ${LINK_MINUTES} minutes. In another browser it shows a code to enter in the first one.`,
    'If you did not request a link, ignore this mail and do not share what it shows.',
  ],
  expiresAt: after(ctx.now, LINK_MINUTES),
})
