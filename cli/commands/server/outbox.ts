import { outboxCommand } from '../../../src/features/mail/control.ts'
import type { OutboxMail } from '../../../src/features/mail/schema.ts'
import { runControlCommand } from '../../operating/control.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { paragraphLines, printNote, printResult, recordLines } from '../../terminal/output.ts'
import { timeLeft } from '../../terminal/times.ts'

const LIMIT = 200

/** Prints mail that was not delivered, for passing it on by hand. The newest comes last, next to the prompt. */
export async function showOutbox({ json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const page = await runControlCommand(loadSettings(common), outboxCommand, { readable: true, limit: LIMIT })
  const { items, nextCursor } = page
  printResult(json, page, ...items.toReversed().flatMap((mail, i) => [...(i > 0 ? [''] : []), ...mailLines(mail)]))
  if (json) return
  if (items.length === 0) printNote('No unsent mail.')
  if (nextCursor) printNote(`Only the newest ${LIMIT} are shown.`)
}

const mailLines = ({ to, subject, status, error, expiresAt, text }: OutboxMail): string[] => [
  ...recordLines({
    To: to,
    Subject: subject,
    Status: `${status}${error ? ` (${error})` : ''}, ${timeLeft(expiresAt)}`,
  }),
  '',
  ...paragraphLines(text ?? '').map((line) => (line ? `    ${line}` : line)),
]
