import { outboxCommand } from '../../src/features/mail/control.ts'
import type { OutboxMail } from '../../src/features/mail/schema.ts'
import { control } from '../operating/control.ts'
import { type CommonOptions, settingsOf } from '../operating/settings.ts'
import { note, paragraphs, print, record } from '../terminal/output.ts'
import { left } from '../terminal/times.ts'

const LIMIT = 200

/** Prints mail that was not delivered, for passing it on by hand. The newest comes last, next to the prompt. */
export async function showOutbox({ json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const page = await control(settingsOf(common), outboxCommand, { readable: true, limit: LIMIT })
  const { items, nextCursor } = page
  print(json, page, ...items.toReversed().flatMap((mail, i) => [...(i > 0 ? [''] : []), ...shown(mail)]))
  if (json) return
  if (items.length === 0) note('No unsent mail.')
  if (nextCursor) note(`Only the newest ${LIMIT} are shown.`)
}

const shown = ({ to, subject, status, error, expiresAt, text }: OutboxMail): string[] => [
  ...record({ To: to, Subject: subject, Status: `${status}${error ? ` (${error})` : ''}, ${left(expiresAt)}` }),
  '',
  ...paragraphs(text ?? '').map((line) => (line ? `    ${line}` : line)),
]
