import type { Ctx } from '../../action.ts'
import { after } from '../../auth/one-time-secrets.ts'
import { type Message, oneLine } from '../mail/message.ts'

/** Mails about accounts. Links have their secret in the fragment, which is not sent to servers or in a Referer. */
export const RESET_MINUTES = 30
export const VERIFY_MINUTES = 24 * 60
export const CHANGE_MINUTES = 60
export const UNDO_MINUTES = 24 * 60
const NOTICE_MINUTES = 7 * 24 * 60

const link = (ctx: Ctx, label: string, page: string, secret: string) => ({
  label,
  url: `${ctx.app.url}/${page}#${secret}`,
})
const notYou = 'If this was not you, nothing has been changed and you can ignore this mail.'

interface Person {
  email: string
  name: string
}

export const verifyMail = (ctx: Ctx, { email, name }: Person, secret: string): Message => ({
  to: email,
  kind: 'verify_email',
  subject: 'Confirm your e-mail address',
  lines: [`Hello ${oneLine(name)},`, 'please confirm that this address is yours. You need to sign in to do so.'],
  button: link(ctx, 'Confirm address', 'verify-email', secret),
  notes: [
    'The link works once, for 24 hours.',
    'If you have no account here, somebody entered your address by mistake: ignore this mail.',
  ],
  expiresAt: after(ctx.now, VERIFY_MINUTES),
})

export const resetMail = (ctx: Ctx, { email, name }: Person, secret: string): Message => ({
  to: email,
  kind: 'reset',
  subject: 'Choose a new password',
  lines: [`Hello ${oneLine(name)},`, 'somebody, probably you, requested a new password for your account.'],
  button: link(ctx, 'Choose a new password', 'reset', secret),
  notes: [
    `The link works once, for ${RESET_MINUTES} minutes. It ends every session, API key and MCP token of the account.`,
    notYou,
  ],
  expiresAt: after(ctx.now, RESET_MINUTES),
})

export const passwordChangedMail = (ctx: Ctx, { email, name }: Person, how: string): Message => ({
  to: email,
  kind: 'password_changed',
  subject: 'Your password was changed',
  lines: [`Hello ${oneLine(name)},`, how],
  notes: [`If this was not you, choose a new password at once: ${ctx.app.url}/forgot`],
  expiresAt: after(ctx.now, NOTICE_MINUTES),
})

const toSettings = (ctx: Ctx): string => `${ctx.app.url}/settings/security`

export const accountKeptMail = (ctx: Ctx, { email, name }: Person): Message => ({
  to: email,
  kind: 'account_kept',
  subject: 'You confirmed your account',
  lines: [
    `Hello ${oneLine(name)},`,
    'you confirmed this address and proved that you created the account. Everything that it had was kept: sign-in ' +
      'methods, sessions, keys, tokens and connected programs.',
  ],
  notes: [`If this was not you, change the password and check the sign-in methods: ${toSettings(ctx)}`],
  expiresAt: after(ctx.now, NOTICE_MINUTES),
})

export const accountReclaimedMail = (ctx: Ctx, { email, name }: Person): Message => ({
  to: email,
  kind: 'account_reclaimed',
  subject: 'Earlier access to your account was removed',
  lines: [
    `Hello ${oneLine(name)},`,
    'you confirmed this address and removed everything that gave access to the account before: password, passkeys, ' +
      'connected identities, sessions, keys, tokens, programs, machines, integrations and guests of your personal ' +
      'space. Records were kept.',
  ],
  notes: [`You can sign in with a mailed code or link, and set up other ways here: ${toSettings(ctx)}`],
  expiresAt: after(ctx.now, NOTICE_MINUTES),
})

/** Names the account, so that a wrong recipient can see that it is not theirs. */
export const changeMail = (ctx: Ctx, user: Person, to: string, secret: string): Message => ({
  to,
  kind: 'email_change',
  subject: 'Confirm your new e-mail address',
  lines: [`The account of ${oneLine(user.name)} (${user.email}) wants to use this address from now on.`],
  button: link(ctx, 'Use this address', 'confirm-email', secret),
  notes: [
    'The link works once, for an hour. It ends every session, API key and MCP token of the account.',
    'Use it only if the account is yours and you requested this.',
  ],
  expiresAt: after(ctx.now, CHANGE_MINUTES),
})

export const takenMail = (ctx: Ctx, to: string): Message => ({
  to,
  kind: 'email_taken',
  subject: 'This address already has an account',
  lines: [
    'Somebody, perhaps you, tried to use this address for another account. It already has one, so nothing was changed.',
  ],
  notes: [`Sign in with it, or choose a new password: ${ctx.app.url}/forgot`],
  expiresAt: after(ctx.now, NOTICE_MINUTES),
})

export const changedMail = (ctx: Ctx, before: Person, secret: string): Message => ({
  to: before.email,
  kind: 'email_undo',
  subject: 'Your e-mail address was changed',
  lines: [
    `Hello ${oneLine(before.name)},`,
    'your account now uses another e-mail address. If you changed it, you can ignore this mail.',
  ],
  button: link(ctx, 'This was not me: undo it', 'undo-email', secret),
  notes: [
    'For 24 hours, the link restores this address and revokes all access: sessions, keys, password, passkeys and ' +
      'connected accounts. You then choose a new password.',
  ],
  expiresAt: after(ctx.now, UNDO_MINUTES),
})

export const deletedMail = (ctx: Ctx, { email, name }: Person): Message => ({
  to: email,
  kind: 'account_deleted',
  subject: 'Your account was deleted',
  lines: [
    `Hello ${oneLine(name)},`,
    'your account and your personal data have been deleted. What you created in teams stays there.',
  ],
  expiresAt: after(ctx.now, NOTICE_MINUTES),
})
