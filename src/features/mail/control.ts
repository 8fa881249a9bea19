import { command } from '../../control/command.ts'
import type { OutboxPage, OutboxQuery } from './schema.ts'

export const outboxCommand = command<OutboxQuery, OutboxPage>('mail.outbox')
