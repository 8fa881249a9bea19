import { and, eq, gt, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import { auditRead, type Ctx, flow, read, write } from '../../action.ts'
import { NO_USER_ID } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { machine, recentAdmin } from '../../auth/policy.ts'
import { hashSecret } from '../../auth/secrets.ts'
import { newId } from '../../db/columns.ts'
import { AppError, notFound } from '../../errors.ts'
import { isPermanentFailure } from '../../outside/mailer.ts'
import { keyset } from '../../records/page.ts'
import type { App } from '../../services.ts'
import { users } from '../users/table.ts'
import { mailDelayed, mailFailed, mailQueued, mailSent } from './events.ts'
import { type MailMessage, oneLine, type RenderedMail, renderMail } from './message.ts'
import type { MailAnswer, OutboxPage, OutboxQuery } from './schema.ts'
import { mails } from './table.ts'

/**
 * Limits how often anyone can cause mail to one address. Call it before anything is written, for known and unknown
 * addresses alike.
 */
export async function countMail({ app }: Ctx, to: string): Promise<void> {
  const key = `mail:${hashSecret(to.toLowerCase())}`
  const most = app.config.RATE_LIMIT_MAIL
  const lifted = most >= 1000
  // The shortest limit comes first: a request that comes too soon must not count towards the limit of the day.
  const limits: [string, number, number][] = [
    ['minute', lifted ? most : 1, 60],
    ['quarter', most, 900],
    ['day', lifted ? most : 10, 86_400],
  ]
  for (const [name, limit, seconds] of limits)
    await countAttempt(app.driver, `${key}:${name}`, limit, seconds, app.clock(), 'mails to this address')
}

interface SendOptions {
  /**
   * Why the mail is not sent, without the caller noticing: the outbox shows it as failed with this reason, and all
   * other statements run as usual.
   */
  withheld?: string
}

/** Stores the mail sealed, in the caller's transaction. If there is a mail server, a job sends it after the commit. */
export async function queueMail(ctx: Ctx, message: MailMessage, { withheld }: SendOptions = {}): Promise<void> {
  const { app } = ctx
  // A notice has neither code nor link, so a newer one does not make it obsolete.
  if (message.code || message.button)
    await eraseMails(ctx, 'A newer mail replaced this one.', isMailTo(message.to, message.kind))
  const id = newId()
  const row = { id, recipient: message.to, ...columnsOf(ctx, message) }
  const sealed = app.seal.close(JSON.stringify(renderMail(message, app.url)))
  await ctx.db
    .insert(mails)
    .values(withheld ? { ...row, sealed: null, status: 'failed', error: withheld } : { ...row, sealed, error: null })
  if (app.config.SMTP_URL) ctx.enqueue({ name: 'mail.send', data: { id } })
}

const columnsOf = ({ app, now }: Ctx, { kind, subject, expiresAt }: Omit<MailMessage, 'to'>) => ({
  createdAt: now,
  kind,
  subject: oneLine(subject, 200),
  status: app.config.SMTP_URL ? ('queued' as const) : ('kept' as const),
  expiresAt,
})

/** Stores the same mail for several recipients, except those that have a mail with this id already. */
export async function queueMails(
  ctx: Ctx,
  message: Omit<MailMessage, 'to'>,
  recipients: readonly { id: string; to: string }[],
): Promise<void> {
  if (recipients.length === 0) return
  const { app } = ctx
  const content = JSON.stringify(renderMail(message, app.url))
  const rows = recipients.map(({ id, to }) => ({
    id,
    recipient: to,
    ...columnsOf(ctx, message),
    sealed: app.seal.close(content),
  }))
  const stored = await ctx.db.insert(mails).values(rows).onConflictDoNothing().returning({ id: mails.id })
  if (app.config.SMTP_URL) for (const { id } of stored) ctx.enqueue({ name: 'mail.send', data: { id } })
}

/**
 * Mails a notice about the account, but only to a confirmed address: an unconfirmed one may belong to a stranger.
 */
export async function mailNotice(
  ctx: Ctx,
  user: { emailVerifiedAt: string | null },
  notice: MailMessage,
): Promise<void> {
  if (user.emailVerifiedAt) await queueMail(ctx, notice)
}

/** Erases the content of mails whose code or link was used. */
export const wipeMail = (ctx: Ctx, to: string, ...kinds: string[]): Promise<void> =>
  eraseMails(ctx, 'Its code or link was already used.', isMailTo(to, ...kinds))

const isMailTo = (to: string, ...kinds: string[]) => and(eq(mails.recipient, to), inArray(mails.kind, kinds))

/** Erases the content. Queued mails become failed, with `why` as the reason. */
async function eraseMails(ctx: Ctx, why: string, which: SQL | undefined): Promise<void> {
  const waits = eq(mails.status, 'queued')
  await ctx.db
    .update(mails)
    .set({
      sealed: null,
      status: sql`case when ${waits} then 'failed' else ${mails.status} end`,
      error: sql`case when ${waits} then coalesce(${mails.error}, ${why}::text) else ${mails.error} end`,
    })
    .where(and(which, isNotNull(mails.sealed)))
}

/** Also used by `tutti outbox` on the machine itself, which shows all content. */
export const outbox = read('mail.outbox', recentAdmin(60), async (ctx, query: OutboxQuery): Promise<OutboxPage> => {
  const { app, actor } = ctx
  const page = keyset({ createdAt: mails.createdAt }, mails.id, query, { sort: 'createdAt' })
  const wanted = and(
    query.status && eq(mails.status, query.status),
    query.readable ? and(isNotNull(mails.sealed), gt(mails.expiresAt, ctx.now)) : undefined,
  )
  const rows = await ctx.db
    .select({
      id: mails.id,
      createdAt: mails.createdAt,
      to: mails.recipient,
      kind: mails.kind,
      subject: mails.subject,
      status: mails.status,
      attempts: mails.attempts,
      error: mails.error,
      sentAt: mails.sentAt,
      expiresAt: mails.expiresAt,
      sealed: mails.sealed,
      toOtherAdmin: sql<boolean>`exists (select 1 from ${users} where lower(${users.email}) = lower(${mails.recipient})
        and ${users.role} = 'admin' and ${users.id} <> ${actor.userId ?? NO_USER_ID})`,
    })
    .from(mails)
    .where(page.where(wanted))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total ? await ctx.db.$count(mails, wanted) : undefined
  const everything = actor.kind === 'system'
  const answer = page.page(
    rows.map(({ sealed, toOtherAdmin, ...mail }) => {
      const mayRead = everything || (administratorsMayRead(app) && !toOtherAdmin)
      return {
        ...mail,
        text: mayRead && sealed && mail.expiresAt > ctx.now ? (contentOf(app, sealed)?.text ?? null) : null,
      }
    }),
    total,
  )
  // Reading a code or link would allow acting as the recipient, so it is audited.
  if (!everything && answer.items.some((mail) => mail.text !== null)) await auditRead(ctx, 'mail.outbox')
  return answer
})

/** Returns the answer to a request for a mail. It depends on the settings only, so that it reveals no address. */
export const mailAnswer = ({ app }: Ctx): MailAnswer =>
  app.config.SMTP_URL ? { sent: true } : { sent: false, kept: true, detail: noMailDetail(app) }

/** Explains that this server sends no mail and who can read the message; undefined if there is a mail server. */
const noMailDetail = (app: App): string | undefined =>
  app.config.SMTP_URL
    ? undefined
    : `This server sends no mail. ${
        administratorsMayRead(app)
          ? 'Ask an administrator, who can read the message in the outbox'
          : 'Ask the operator of the server, who can read the message with `tutti outbox`'
      } and pass it on to you.`

const administratorsMayRead = ({ config }: App): boolean =>
  config.ADMIN_SEES_CODES === 'on' || (config.ADMIN_SEES_CODES === 'auto' && !config.SMTP_URL)

const contentOf = (app: App, sealed: string): RenderedMail | undefined => {
  const text = app.seal.open(sealed)
  return text === undefined ? undefined : (JSON.parse(text) as RenderedMail)
}

// ---- sending

const findQueued = read('mail.waiting', machine, async (ctx, { id }: { id: string }) => {
  const [mail] = await ctx.db
    .select({ to: mails.recipient, subject: mails.subject, sealed: mails.sealed })
    .from(mails)
    .where(and(eq(mails.id, id), eq(mails.status, 'queued'), gt(mails.expiresAt, ctx.now)))
  return mail
})

const storeOutcome = write(
  'mail.settle',
  machine,
  async (
    ctx,
    { id, outcome, error }: { id: string; outcome: 'sent' | 'delayed' | 'failed'; error?: string },
  ): Promise<void> => {
    const changes = {
      sent: { status: 'sent', sentAt: ctx.now, sealed: null, error: null },
      delayed: {},
      failed: { status: 'failed' },
    } as const
    await ctx.db
      .update(mails)
      .set({ attempts: sql`${mails.attempts} + 1`, error: error && oneLine(error, 500), ...changes[outcome] })
      .where(eq(mails.id, id))
    ctx.emit({ sent: mailSent, delayed: mailDelayed, failed: mailFailed }[outcome], { subjectId: id })
  },
)

/** Tries to send a mail once and throws if the job should try again later. Does not send an expired mail. */
export const send = flow('mail.send', machine, async (ctx, { id }: { id: string }): Promise<void> => {
  const mail = await findQueued(ctx, { id })
  const content = mail?.sealed ? contentOf(ctx.app, mail.sealed) : undefined
  if (!mail || !content) return
  try {
    await ctx.app.mailer.send({ id, to: mail.to, subject: mail.subject, ...content })
  } catch (error) {
    const final = isPermanentFailure(error)
    await storeOutcome(ctx, { id, outcome: final ? 'failed' : 'delayed', error: (error as Error).message })
    if (final) return
    throw error
  }
  await storeOutcome(ctx, { id, outcome: 'sent' })
})

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

const isAnyStale = read('mail.isAnyStale', machine, async (ctx, _: Record<string, never>): Promise<boolean> => {
  const found = await ctx.db.select({ id: mails.id }).from(mails).where(isStaleMail(ctx)).limit(1)
  return found.length > 0
})

const disposeStale = write(
  'mail.disposeStale',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    await eraseMails(ctx, 'The mail expired before it could be sent.', isStaleMail(ctx))
  },
  { bookkeeping: true },
)

const isStaleMail = (ctx: Ctx) => and(lte(mails.expiresAt, ctx.now), isNotNull(mails.sealed))

/** Erases the content of expired mails; those that were still queued become failed. */
export const wipeStale = flow('mail.wipeStale', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  if (await isAnyStale(ctx, {})) await disposeStale(ctx, {})
})
