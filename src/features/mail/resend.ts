import { and, eq, gt, isNotNull } from 'drizzle-orm'
import { write } from '../../action.ts'
import { recentAdmin } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { mailQueued } from './events.ts'
import { mails } from './table.ts'

/** Queues a failed mail again. The content of used and expired mails was erased, so they cannot be sent. */
export const resend = write(
  'mail.resend',
  recentAdmin(60),
  async (ctx, { id }: { id: string }): Promise<{ id: string; status: 'queued' }> => {
    const [mail] = await ctx.db.select().from(mails).where(eq(mails.id, id)).for('update')
    if (!mail) throw notFound('mail', id)
    if (!ctx.app.config.SMTP_URL)
      throw new AppError('conflict', 'No mail server is set up. Pass the message on yourself.')
    const [queued] = await ctx.db
      .update(mails)
      .set({ status: 'queued', error: null })
      .where(and(eq(mails.id, id), eq(mails.status, 'failed'), isNotNull(mails.sealed), gt(mails.expiresAt, ctx.now)))
      .returning({ id: mails.id })
    if (!queued)
      throw new AppError(
        'conflict',
        'Only a failed mail whose code or link is neither used nor expired can be sent again.',
      )
    ctx.emit(mailQueued, { subjectId: id })
    ctx.enqueue({ name: 'mail.send', data: { id } })
    return { id, status: 'queued' }
  },
)
