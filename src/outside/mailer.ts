import type { Config } from '../config.ts'

export interface Outgoing {
  id: string
  to: string
  subject: string
  text: string
  html: string
}

/** The way out for mail. */
export interface Mailer {
  send(mail: Outgoing): Promise<void>
  /** Speaks to the server up to the password, and sends nothing. */
  check(): Promise<void>
  close(): void
}

/** nodemailer is loaded with the first mail: most installations send few, many none. */
export function createMailer({ SMTP_URL, MAIL_FROM }: Config): Mailer {
  const connect = async (url: string) => {
    const { createTransport } = await import('nodemailer')
    return createTransport({
      // What the address says (`?requireTLS=false`) comes before what stands here.
      url,
      // Nobody on the way learns the password because he hid that the server speaks TLS.
      requireTLS: new URL(url).password !== '',
      pool: true,
      maxConnections: 2,
      // A mail waits at most so long for its server; the job tries again later.
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 20_000,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }
  let transport: ReturnType<typeof connect> | undefined
  return {
    async send({ id, to, ...rest }) {
      if (!SMTP_URL || !MAIL_FROM) throw new Error('SMTP_URL is not set')
      transport ??= connect(SMTP_URL)
      await (await transport).sendMail({
        from: MAIL_FROM,
        // An address and nothing to be parsed.
        to: { name: '', address: to },
        // The same for every attempt, so that a mail that got out twice is shown once.
        messageId: `<${id}@${/@([\w.-]+)/.exec(MAIL_FROM)?.[1] ?? 'tutti'}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
        ...rest,
      })
    },
    async check() {
      if (!SMTP_URL) throw new Error('SMTP_URL is not set')
      transport ??= connect(SMTP_URL)
      await (await transport).verify()
    },
    close() {
      void transport?.then((t) => t.close()).catch(() => undefined)
    },
  }
}

/** The server will never take this mail: no such mailbox, say. Everything else is worth another attempt. */
export function isFinal(error: unknown): boolean {
  const { code, responseCode = 0 } = error as { code?: string; responseCode?: number }
  return responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE')
}
