import { define } from '../../events/catalogue.ts'

const ofMail = { kind: 'mail' } as const

export const mailQueued = define('mail.queued', {
  ...ofMail,
  description: 'An administrator queued a failed mail again',
})
export const mailSent = define('mail.sent', { ...ofMail, description: 'A mail was sent' })
export const mailDelayed = define('mail.delayed', {
  ...ofMail,
  description: 'An attempt to send a mail failed and will be repeated',
})
export const mailFailed = define('mail.failed', {
  ...ofMail,
  description: 'A mail could not be sent, and the server stopped trying',
})
