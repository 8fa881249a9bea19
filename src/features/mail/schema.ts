import {
  bool,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  type Static,
  text,
} from '../../schema.ts'

/** The same for every address, whether or not it has an account. */
export const MailAnswer = object({
  sent: bool({ description: 'false: there is no mail server, so no mail was sent' }),
  kept: optional(bool({ description: 'This server keeps the mail; `detail` says who can read it' })),
  detail: optional(
    text(300, { example: 'This server sends no mail. Ask an administrator, who can read the message in the outbox.' }),
  ),
})
export type MailAnswer = Static<typeof MailAnswer>

const statuses = ['queued', 'sent', 'kept', 'failed'] as const

export const OutboxMail = object({
  id: id(),
  createdAt: instant(),
  to: text(254, { example: 'ada@example.com' }),
  kind: text(60, { example: 'code' }),
  subject: text(300, { example: 'Your sign-in code' }),
  status: oneOf(statuses, {
    description: 'kept: there is no mail server, so an administrator passes it on; failed: see `error`',
  }),
  attempts: int(),
  error: nullable(text(500)),
  sentAt: nullable(instant()),
  expiresAt: instant(),
  text: nullable(
    text(20_000, {
      description:
        'Content, if ADMIN_SEES_CODES lets you read it; erased once the mail is sent, used, replaced or expired',
    }),
  ),
})
export type OutboxMail = Static<typeof OutboxMail>

export const OutboxQuery = object({
  ...paging('createdAt'),
  status: optional(oneOf(statuses)),
  readable: optional(bool({ description: 'Only mail whose text is not erased yet' })),
})
export type OutboxQuery = Static<typeof OutboxQuery>
export const OutboxPage = pageOf(OutboxMail)
export type OutboxPage = Static<typeof OutboxPage>

export const Requeued = object({ id: id(), status: oneOf(['queued']) })
