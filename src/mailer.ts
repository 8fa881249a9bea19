import type { Config } from './config.ts'

export interface Outgoing {
  to: string
  subject: string
  text: string
  html: string
}

/** The way out for mail. */
export interface Mailer {
  send(mail: Outgoing): Promise<void>
  close(): void
}

/** nodemailer is loaded with the first mail: most installations send few, many none. */
export function createMailer({ SMTP_URL, MAIL_FROM }: Config): Mailer {
  const connect = async (url: string) => {
    const { createTransport } = await import('nodemailer')
    // A mail waits at most so long for its server; the job tries again later.
    return createTransport({
      url,
      pool: true,
      maxConnections: 2,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 20_000,
    })
  }
  let transport: ReturnType<typeof connect> | undefined
  return {
    async send({ to, ...rest }) {
      if (!SMTP_URL) throw new Error('SMTP_URL is not set')
      transport ??= connect(SMTP_URL)
      await (await transport).sendMail({ from: MAIL_FROM, to: { name: '', address: to }, ...rest })
    },
    close() {
      void transport?.then((t) => t.close()).catch(() => undefined)
    },
  }
}
