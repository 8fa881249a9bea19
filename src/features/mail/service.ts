import { and, eq, gt, isNotNull, lte, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import type { App } from '../../app.ts'
import { countAttempt } from '../../auth/limits.ts'
import { machine, recentAdmin } from '../../auth/policy.ts'
import { hashSecret } from '../../auth/secrets.ts'
import { newId } from '../../db/columns.ts'
import { keyset } from '../../db/page.ts'
import { type Message, type Rendered, render } from './message.ts'
import type { OutboxPage, OutboxQuery } from './schema.ts'
import { mails } from './table.ts'

/** Before anything is written: how often one address may be written to at a stranger's request. Known and unknown ones alike. */
export async function countMail({ app }: Ctx, to: string): Promise<void> {
  const key = `mail:${hashSecret(to.toLowerCase())}`
  const unlimited = app.config.RATE_LIMIT_MAIL >= 1000
  const limits: [string, number, number][] = [
    ['day', unlimited ? app.config.RATE_LIMIT_MAIL : 10, 86_400],
    ['quarter', app.config.RATE_LIMIT_MAIL, 900],
    ['minute', unlimited ? app.config.RATE_LIMIT_MAIL : 1, 60],
  ]
  for (const [name, limit, seconds] of limits)
    await countAttempt(app.driver, `${key}:${name}`, limit, seconds, app.clock(), 'mails to this address')
}

/** In the running transaction: kept sealed, and sent by a job after the commit where there is a mail server. */
export async function queueMail(ctx: Ctx, message: Message): Promise<void> {
  const { app } = ctx
  await ctx.db
    .update(mails)
    .set({ sealed: null })
    .where(and(eq(mails.recipient, message.to), eq(mails.kind, message.kind), isNotNull(mails.sealed)))
  const id = newId()
  await ctx.db.insert(mails).values({
    id,
    createdAt: ctx.now,
    recipient: message.to,
    kind: message.kind,
    subject: message.subject,
    sealed: app.seal.close(JSON.stringify(render(message, app.url))),
    status: app.config.SMTP_URL ? 'queued' : 'kept',
    expiresAt: message.expiresAt,
  })
  if (app.config.SMTP_URL) ctx.enqueue({ name: 'mail.send', data: { id } })
}

/** What a mail says is of no use once its code or link was used. */
export async function wipeMail(ctx: Ctx, to: string, ...kinds: string[]): Promise<void> {
  for (const kind of kinds)
    await ctx.db
      .update(mails)
      .set({ sealed: null })
      .where(and(eq(mails.recipient, to), eq(mails.kind, kind)))
}

/** Also for `tutti outbox` on the machine itself. */
export const outbox = read('mail.outbox', recentAdmin(60), async (ctx, query: OutboxQuery): Promise<OutboxPage> => {
  const page = keyset({ createdAt: mails.createdAt }, mails.id, query, { sort: 'createdAt' })
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
    })
    .from(mails)
    .where(page.where(query.status ? eq(mails.status, query.status) : undefined))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const opened = rows.map(({ sealed, ...mail }) => ({
    ...mail,
    text: sealed && mail.expiresAt > ctx.now ? (contentOf(ctx.app, sealed)?.text ?? null) : null,
  }))
  const total = query.total ? await ctx.db.$count(mails, query.status ? eq(mails.status, query.status) : undefined) : undefined
  return page.page(opened, total)
})

const contentOf = (app: App, sealed: string): Rendered | undefined => {
  const text = app.seal.open(sealed)
  return text === undefined ? undefined : (JSON.parse(text) as Rendered)
}

// ---- sending

const waiting = read('mail.waiting', machine, async (ctx, { id }: { id: string }) => {
  const [mail] = await ctx.db
    .select({ to: mails.recipient, subject: mails.subject, sealed: mails.sealed })
    .from(mails)
    .where(and(eq(mails.id, id), eq(mails.status, 'queued'), gt(mails.expiresAt, ctx.now)))
  return mail
})

const settle = write('mail.settle', machine, async (ctx, { id, error }: { id: string; error?: string }): Promise<void> => {
  await ctx.db
    .update(mails)
    .set({
      attempts: sql`${mails.attempts} + 1`,
      ...(error === undefined ? { status: 'sent' as const, sentAt: ctx.now, sealed: null, error: null } : { error: error.slice(0, 500) }),
    })
    .where(eq(mails.id, id))
})

/** One attempt; throws for another one later. A stale mail is not sent any more. */
export const send = flow('mail.send', machine, async (ctx, { id }: { id: string }): Promise<void> => {
  const mail = await waiting(ctx, { id })
  const content = mail?.sealed ? contentOf(ctx.app, mail.sealed) : undefined
  if (!mail || !content) return
  try {
    await ctx.app.mailer.send({ to: mail.to, subject: mail.subject, ...content })
  } catch (error) {
    await settle(ctx, { id, error: (error as Error).message })
    throw error
  }
  await settle(ctx, { id })
})

/** What nobody can use any more is wiped, and a mail that never got out is called failed. */
export const wipeStale = write('mail.wipeStale', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  await ctx.db
    .update(mails)
    .set({ sealed: null, status: sql`case when ${mails.status} = 'queued' then 'failed' else ${mails.status} end` })
    .where(and(lte(mails.expiresAt, ctx.now), isNotNull(mails.sealed)))
})
