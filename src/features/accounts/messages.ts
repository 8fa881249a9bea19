import type { Ctx } from '../../action.ts'
import { minutesAfter } from '../../auth/one-time-secrets.ts'
import { type MailMessage, oneLine } from '../mail/message.ts'

/** Mails about accounts. Links have their secret in the fragment, which is not sent to servers or in a Referer. */
export const RESET_MINUTES = 30
export const VERIFY_MINUTES = 24 * 60
export const CHANGE_MINUTES = 60
export const UNDO_MINUTES = 24 * 60
export const NOTICE_MINUTES = 7 * 24 * 60

const link = (ctx: Ctx, label: string, page: string, secret: string) => ({
  label,
  url: `${ctx.app.url}/${page}#${secret}`,
})
const notYou = 'If this was not you, you can ignore this mail. Your password has not changed.'

interface Person {
  email: string
  name: string
}

export const verifyMail = (ctx: Ctx, { email, name }: Person, secret: string): MailMessage => ({
  to: email,
  kind: 'verify_email',
  subject: 'Confirm your e-mail address',
  lines: [`Hello ${oneLine(name)},`, 'Please confirm that this e-mail address is yours. You will be asked to sign in.'],
  button: link(ctx, 'Confirm address', 'verify-email', secret),
  notes: [
    'The link works once and expires after 24 hours.',
    'If you have no account here, someone entered your address by mistake. You can ignore this mail.',
  ],
  expiresAt: minutesAfter(ctx.now, VERIFY_MINUTES),
})

export const resetMail = (ctx: Ctx, { email, name }: Person, secret: string): MailMessage => ({
  to: email,
  kind: 'reset',
  subject: 'Choose a new password',
  lines: [`Hello ${oneLine(name)},`, 'Someone, probably you, asked to reset the password of your account.'],
  button: link(ctx, 'Choose a new password', 'reset', secret),
  notes: [
    `The link works once and expires after ${RESET_MINUTES} minutes. ` +
      'A new password ends all sessions, API keys and MCP tokens of the account.',
    notYou,
  ],
  expiresAt: minutesAfter(ctx.now, RESET_MINUTES),
})

export const passwordChangedMail = (ctx: Ctx, { email, name }: Person, how: string): MailMessage => ({
  to: email,
  kind: 'password_changed',
  subject: 'Your password was changed',
  lines: [`Hello ${oneLine(name)},`, how],
  notes: [`If this was not you, choose a new password now: ${ctx.app.url}/forgot`],
  expiresAt: minutesAfter(ctx.now, NOTICE_MINUTES),
})

const securitySettingsUrl = (ctx: Ctx): string => `${ctx.app.url}/settings/security`

export const accountKeptMail = (ctx: Ctx, { email, name }: Person): MailMessage => ({
  to: email,
  kind: 'account_kept',
  subject: 'You confirmed your account',
  lines: [
    `Hello ${oneLine(name)},`,
    'You confirmed this address and proved that you created the account. All its sign-in methods, sessions, keys, ' +
      'tokens and connected programs still work.',
  ],
  notes: [`If this was not you, change your password and check your sign-in methods: ${securitySettingsUrl(ctx)}`],
  expiresAt: minutesAfter(ctx.now, NOTICE_MINUTES),
})

export const accountReclaimedMail = (ctx: Ctx, { email, name }: Person): MailMessage => ({
  to: email,
  kind: 'account_reclaimed',
  subject: 'Earlier access to your account was removed',
  lines: [
    `Hello ${oneLine(name)},`,
    'You confirmed this address and removed all earlier access to the account: its password, passkeys, connected ' +
      'identities, sessions, keys, tokens, programs, machines and integrations, and the guests of your personal ' +
      'space. Your records were kept.',
  ],
  notes: [`You can sign in with a mailed code or link. Add other sign-in methods here: ${securitySettingsUrl(ctx)}`],
  expiresAt: minutesAfter(ctx.now, NOTICE_MINUTES),
})

/** Names the account, so that a wrong recipient can see that it is not theirs. */
export const confirmNewEmailMail = (ctx: Ctx, user: Person, to: string, secret: string): MailMessage => ({
  to,
  kind: 'email_change',
  subject: 'Confirm your new e-mail address',
  lines: [`${oneLine(user.name)} (${user.email}) asked to use this address for their account.`],
  button: link(ctx, 'Use this address', 'confirm-email', secret),
  notes: [
    'The link works once and expires after an hour. The change ends all sessions, API keys and MCP tokens.',
    'Use the link only if the account is yours and you asked for this change.',
  ],
  expiresAt: minutesAfter(ctx.now, CHANGE_MINUTES),
})

export const addressTakenMail = (ctx: Ctx, to: string): MailMessage => ({
  to,
  kind: 'email_taken',
  subject: 'This address already has an account',
  lines: [
    'Someone, perhaps you, tried to use this address for another account. The address already has an account, so ' +
      'nothing was changed.',
  ],
  notes: [`Sign in with this address, or reset its password: ${ctx.app.url}/forgot`],
  expiresAt: minutesAfter(ctx.now, NOTICE_MINUTES),
})

export const emailChangedMail = (ctx: Ctx, before: Person, secret: string): MailMessage => ({
  to: before.email,
  kind: 'email_undo',
  subject: 'Your e-mail address was changed',
  lines: [
    `Hello ${oneLine(before.name)},`,
    'Your account now uses another e-mail address. If you changed it, you can ignore this mail.',
  ],
  button: link(ctx, 'This was not me: undo the change', 'undo-email', secret),
  notes: [
    'The link works for 24 hours. It restores this address and removes all access: sessions, keys, the password, ' +
      'passkeys and connected accounts. You then choose a new password.',
  ],
  expiresAt: minutesAfter(ctx.now, UNDO_MINUTES),
})

export const accountDeletedMail = (ctx: Ctx, { email, name }: Person): MailMessage => ({
  to: email,
  kind: 'account_deleted',
  subject: 'Your account was deleted',
  lines: [
    `Hello ${oneLine(name)},`,
    'Your account and your personal data were deleted. Records that you created in teams stay there.',
  ],
  expiresAt: minutesAfter(ctx.now, NOTICE_MINUTES),
})
