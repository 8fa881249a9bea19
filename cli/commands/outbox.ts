import type { OutboxMail, OutboxPage } from '../../src/features/mail/schema.ts'
import { control } from '../control.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'
import { note, paragraphs, print, record } from '../terminal/output.ts'

const MOST = 200

/** What has not reached its receiver and can be read out to him; the newest comes last, where the eye is. */
export async function showOutbox({ json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const page = (await control(settingsOf(common), 'mail.outbox', { readable: true, limit: MOST })) as OutboxPage
  const { items, nextCursor } = page
  print(json, page, ...items.toReversed().flatMap((mail, i) => [...(i > 0 ? [''] : []), ...shown(mail)]))
  if (json) return
  if (items.length === 0) note('No mail is waiting.')
  if (nextCursor) note(`These are the newest ${MOST}.`)
}

const shown = ({ to, subject, status, error, expiresAt, text }: OutboxMail): string[] => [
  ...record({ To: to, Subject: subject, Status: `${status}${error ? ` (${error})` : ''}, of use until ${expiresAt}` }),
  '',
  ...paragraphs(text ?? '').map((line) => (line ? `    ${line}` : line)),
]
