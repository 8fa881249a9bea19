import { type Ctx, flow, write } from '../../action.ts'
import { countAttempt } from '../../auth/limits.ts'
import { recentAdmin } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { AppError } from '../../errors.ts'
import { daysAfter } from '../../records/days.ts'
import { withoutSecrets } from '../../text/secrets.ts'
import { type MailMessage, oneLine, renderMail } from '../mail/message.ts'
import { queueMail } from '../mail/service.ts'
import { activeUser } from '../users/service.ts'
import { testMailSent } from './events.ts'
import type { TestEmail, TestEmailSent } from './schema.ts'

const RECENT = 60
/** Test mails per administrator and hour. */
const PER_HOUR = 5
const WAIT_MS = 20_000

const messageTo = ({ app, now }: Ctx, to: string): MailMessage => ({
  to,
  kind: 'test',
  subject: 'This is a test',
  lines: [`An administrator of ${app.url} tested whether it can send mail. You do not need to do anything.`],
  expiresAt: daysAfter(now, 1),
})

const storeTestEmail = write(
  'settings.keepTestEmail',
  recentAdmin(RECENT),
  async (ctx, { to, mode }: { to: string; mode: TestEmailSent['mode'] }): Promise<void> => {
    if (mode === 'outbox') await queueMail(ctx, messageTo(ctx, to))
    ctx.emit(testMailSent, { userId: ctx.actor.userId, data: { mode } })
  },
)

/** Sends a mail right away and returns the response of the mail server. Without one, the outbox keeps the mail. */
export const testEmail = flow(
  'settings.testEmail',
  recentAdmin(RECENT),
  async (ctx, input: TestEmail): Promise<TestEmailSent> => {
    const { app, actor } = ctx
    const to = input.to ?? (actor.userId ? (await activeUser(ctx, actor.userId))?.email : undefined)
    if (!to) throw new AppError('invalid', 'Specify the recipient in `to`.')
    await countAttempt(app.driver, `test-mail:${actor.userId}`, PER_HOUR, 3600, app.clock(), 'test mails')
    const mode = app.config.SMTP_URL ? 'smtp' : 'outbox'
    await storeTestEmail(ctx, { to, mode })
    if (mode === 'outbox') return { mode, delivered: false, error: null }
    const message = messageTo(ctx, to)
    const sending = app.mailer.send({ id: newId(), to, subject: message.subject, ...renderMail(message, app.url) })
    try {
      await Promise.race([sending, rejectWhenLate()])
      return { mode, delivered: true, error: null }
    } catch (error) {
      sending.catch(() => undefined)
      return { mode, delivered: false, error: oneLine(withoutSecrets((error as Error).message), 500) }
    }
  },
  { outside: true },
)

const rejectWhenLate = (): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error('The mail server did not respond within 20 seconds.')), WAIT_MS).unref()
  })
