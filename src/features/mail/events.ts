import { defineEvent } from '../../events/catalogue.ts'

const ofMail = { kind: 'mail' } as const

export const mailQueued = defineEvent('mail.queued', {
  ...ofMail,
  description: 'An administrator queued a failed mail again',
})
export const mailSent = defineEvent('mail.sent', { ...ofMail, description: 'A mail was sent' })
export const mailDelayed = defineEvent('mail.delayed', {
  ...ofMail,
  description: 'An attempt to send a mail failed and will be repeated',
})
export const mailFailed = defineEvent('mail.failed', {
  ...ofMail,
  description: 'A mail could not be sent, and the server stopped trying',
})
