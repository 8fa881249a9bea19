import { and, desc, eq, sql } from 'drizzle-orm'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import type { RenderedMail } from '../../src/features/mail/message.ts'
import { mails } from '../../src/features/mail/table.ts'
import type { TestApp } from './app.ts'
import { atEnd } from './cleanup.ts'

/** What a request for a mail returns on a server without SMTP, for known and unknown addresses alike. */
export const kept = {
  sent: false,
  kept: true,
  detail:
    'This server sends no mail. Ask an administrator, who can read the message in the outbox and pass it on to you.',
}

interface Received extends Email {
  /** The envelope, which is what counts for delivery. */
  recipients: string[]
  raw: string
}

export interface MailServer {
  /** For SMTP_URL. */
  url: string
  /** Settings of an app that sends through it. */
  settings: { SMTP_URL: string; MAIL_FROM: string }
  /** All of them, in the order they came. */
  received: Received[]
  /** Waits for a mail to this address that nobody has asked for yet; the oldest comes first. */
  mailTo(address: string): Promise<Received>
  /** Turns the next so many mails away: for now, as a server does that is busy, or with 550 for good. Resolves when it has done so. */
  refuse(times: number, answer?: 451 | 550): Promise<void>
  close(): Promise<void>
}

/** A real SMTP server on a free port. */
export async function mailServer(): Promise<MailServer> {
  const received: Received[] = []
  const untaken: Received[] = []
  const waiting: { address: string; take(mail: Received): void }[] = []
  let refusals = 0
  let refusal = 451
  let refused: (() => void) | undefined

  const deliver = (mail: Received) => {
    received.push(mail)
    const at = waiting.findIndex((w) => mail.recipients.includes(w.address))
    if (at < 0) untaken.push(mail)
    else waiting.splice(at, 1)[0]?.take(mail)
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    closeTimeout: 100,
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
      stream.on('end', async () => {
        if (refusals > 0) {
          if (--refusals === 0) refused?.()
          return done(Object.assign(new Error('Not now'), { responseCode: refusal }))
        }
        const bytes = Buffer.concat(chunks)
        const recipients = session.envelope.rcptTo.map((to) => to.address.toLowerCase())
        deliver({ ...(await PostalMime.parse(bytes)), recipients, raw: bytes.toString('latin1') })
        done()
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.server.address() as { port: number }
  const url = `smtp://127.0.0.1:${port}`
  const close = () => new Promise<void>((gone) => server.close(() => gone()))
  atEnd(close)
  return {
    url,
    settings: { SMTP_URL: url, MAIL_FROM: 'Tutti <tutti@example.com>' },
    received,
    mailTo(to) {
      const address = to.toLowerCase()
      const at = untaken.findIndex((mail) => mail.recipients.includes(address))
      if (at >= 0) return Promise.resolve(untaken.splice(at, 1)[0] as Received)
      const { promise, resolve, reject } = Promise.withResolvers<Received>()
      const timer = setTimeout(() => reject(new Error(`No mail to ${address} within 60 s.`)), 60_000)
      waiting.push({ address, take: resolve })
      return promise.finally(() => clearTimeout(timer))
    },
    refuse(times, answer = 451) {
      refusals = times
      refusal = answer
      return new Promise((resolve) => {
        refused = resolve
      })
    },
    close,
  }
}

export interface KeptMail extends RenderedMail {
  kind: string
  subject: string
  status: string
}

/** The newest mail to this address whose content is still there: what an administrator of an instance without mail would read out. */
export async function keptMail(t: TestApp, to: string, kind?: string): Promise<KeptMail> {
  const kept = (await mailRows(t, to)).find(
    (mail) => mail.sealed !== null && (kind === undefined || mail.kind === kind),
  )
  const text = kept?.sealed ? t.app.seal.open(kept.sealed) : undefined
  if (!kept || text === undefined) throw new Error(`No ${kind ?? 'mail'} with content is kept for ${to}.`)
  return { kind: kept.kind, subject: kept.subject, status: kept.status, ...(JSON.parse(text) as RenderedMail) }
}

/** Newest first. */
export const mailRows = (t: TestApp, to: string, kind?: string) =>
  t.app.db
    .select()
    .from(mails)
    .where(
      and(eq(sql`lower(${mails.recipient})`, to.toLowerCase()), kind === undefined ? undefined : eq(mails.kind, kind)),
    )
    .orderBy(desc(mails.createdAt), desc(mails.id))

/** The six digits on a line of their own. */
export function codeIn({ text }: { text?: string }): string {
  const code = /^ *(\d{6})\r?$/m.exec(text ?? '')?.[1]
  if (!code) throw new Error(`No code in: ${text}`)
  return code
}

/** What stands in the fragment of the link. */
export function linkSecretIn({ text }: { text?: string }): string {
  const secret = /https?:\/\/\S+#(\S+)/.exec(text ?? '')?.[1]
  if (!secret) throw new Error(`No link in: ${text}`)
  return secret
}
