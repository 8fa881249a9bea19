import { Type } from '@sinclair/typebox'
import {
  bool,
  email,
  instant,
  nullable,
  object,
  optional,
  pageOf,
  paging,
  partial,
  recordFields,
  type Static,
  text,
  time,
  yes,
} from '../../schema.ts'

const name = text(100, { example: 'Grace Hopper' })
const subject = text(200, { example: 'A question' })
const message = text(5000, { minLength: 10, example: 'How do I reset the password of a colleague?' })

export const ContactToken = object({
  token: text(500, { example: 'q1w2e3…', description: 'Send it with the message, after 3 seconds and within 2 hours' }),
})
export type ContactToken = Static<typeof ContactToken>

export const ContactSend = object({
  name: optional(name),
  email: email(),
  subject: optional(subject),
  message,
  token: text(500, { example: 'q1w2e3…', description: 'From `GET /api/public/contact`' }),
  website: optional(text(500, { example: '', description: 'Leave this empty: only programs fill it in' })),
})
export type ContactSend = Static<typeof ContactSend>
export const ContactReceived = object({ received: yes() })
export type ContactReceived = Static<typeof ContactReceived>

export const ContactMessage = object({
  ...recordFields,
  name: nullable(name),
  email: email(),
  subject: nullable(subject),
  message,
  readAt: nullable(instant()),
  spam: bool(),
  reason: nullable(text(100, { example: 'too many links', description: 'Why the message was marked as spam' })),
})
export type ContactMessage = Static<typeof ContactMessage>
export const ContactPage = pageOf(ContactMessage)
export type ContactPage = Static<typeof ContactPage>
export const ContactQuery = object({
  ...paging('createdAt'),
  search: optional(text(100, { example: 'password', description: 'Only messages that contain it' })),
  spam: optional(bool({ description: 'Default: both' })),
  unread: optional(Type.Boolean()),
})
export type ContactQuery = Static<typeof ContactQuery>
export const ContactPatch = partial(
  object({
    readAt: nullable(time({ description: 'null: unread' })),
    spam: bool({ description: 'Your decision whether it is spam' }),
  }),
)
export type ContactPatch = Static<typeof ContactPatch>
