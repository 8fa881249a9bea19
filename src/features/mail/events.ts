import { define } from '../../events/catalogue.ts'

const ofMail = { kind: 'mail' } as const

export const mailSent = define('mail.sent', { ...ofMail, says: 'A mail was sent' })
export const mailDelayed = define('mail.delayed', { ...ofMail, says: 'A mail could not be sent yet' })
export const mailFailed = define('mail.failed', { ...ofMail, says: 'A mail could not be sent' })
