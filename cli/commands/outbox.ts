import type { OutboxMail, OutboxPage } from '../../src/features/mail/schema.ts'
import { machine } from '../machine.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

const MOST = 200

/** What has not reached its receiver and can be read out to him; the newest comes last, where the eye is. */
export async function showOutbox({ json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const { items, nextCursor } = (await machine(settingsOf(common), 'mail.outbox', { readable: true, limit: MOST })) as OutboxPage
  if (json) return console.log(JSON.stringify(items, null, 2))
  if (items.length === 0) return console.log('No mail is waiting.')
  if (nextCursor) console.log(`The newest ${MOST}:\n`)
  console.log(items.toReversed().map(shown).join('\n\n'))
}

const shown = ({ to, subject, status, error, expiresAt, text }: OutboxMail): string =>
  `To:      ${to}
Subject: ${subject}
Status:  ${status}${error ? ` (${error})` : ''}, of use until ${expiresAt}

${text?.replace(/^(?=.)/gm, '    ')}`
