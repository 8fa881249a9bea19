import type { Ctx } from '../../action.ts'
import { after, CODE_MINUTES } from '../../auth/one-time-secrets.ts'
import type { Message } from '../mail/message.ts'

export const LINK_MINUTES = 15

export const codeMail = (ctx: Ctx, to: string, code: string): Message => ({
  to,
  kind: 'code',
  subject: 'Your code to sign in',
  lines: ['Type this code where you are signing in:'],
  code,
  notes: [
    `It works once, for ${CODE_MINUTES} minutes.`,
    'Nobody from Tutti will ever ask you for it. If you did not ask for a code yourself, ignore this mail and tell nobody.',
  ],
  expiresAt: after(ctx.now, CODE_MINUTES),
})

/** The secret stands behind the #, where no server, proxy or Referer sees it. */
export const linkMail = (ctx: Ctx, to: string, secret: string): Message => ({
  to,
  kind: 'magic_link',
  subject: 'Your link to sign in',
  lines: ['Open this link in the browser where you asked for it:'],
  button: { label: 'Sign in', url: `${ctx.app.url}/magic#${secret}` },
  notes: [
    `It works once, for ${LINK_MINUTES} minutes. In another browser it shows you a code to type in the first one.`,
    'If you did not ask for a link yourself, ignore this mail and tell nobody what it shows.',
  ],
  expiresAt: after(ctx.now, LINK_MINUTES),
})
