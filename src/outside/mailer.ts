import type { Config } from '../config.ts'

interface OutgoingMail {
  id: string
  to: string
  subject: string
  text: string
  html: string
}

/** Sends mail. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<void>
  /** Connects to the server and signs in, but sends nothing. */
  check(): Promise<void>
  close(): void
}

/** nodemailer is loaded with the first mail: most installations send few, many none. */
export function createMailer({ SMTP_URL, MAIL_FROM }: Config): Mailer {
  const connect = async (url: string) => {
    const { createTransport } = await import('nodemailer')
    return createTransport({
      // Settings in the URL (`?requireTLS=false`) override those below.
      url,
      // With a password, TLS is required: an attacker on the way could hide that the server offers it.
      requireTLS: new URL(url).password !== '',
      pool: true,
      maxConnections: 2,
      // Limits how long a mail waits for its server; the job retries later.
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
        // As an object, so that the address is not parsed.
        to: { name: '', address: to },
        // Equal for every attempt, so that mail programs show a mail sent twice only once.
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

/**
 * True if the server will never accept this mail, for example because the mailbox does not exist. All other errors are
 * worth a retry.
 */
export function isPermanentFailure(error: unknown): boolean {
  const { code, responseCode = 0 } = error as { code?: string; responseCode?: number }
  return responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE')
}
