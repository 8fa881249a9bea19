import { createHmac } from 'node:crypto'
import type { notificationCreated } from '../notifications/events.ts'
import type { Provider } from './schema.ts'

/** A notification forwarded to another service. */
export interface Message {
  event: typeof notificationCreated.name | 'test'
  id: string
  createdAt: string
  type: string
  reason: string
  title: string
  message: string | null
  link: string | null
}

interface Post {
  body: string
  headers: Record<string, string>
}

const DISCORD_MOST = 2000
/** Slack interprets `<!channel>` and links in plain text unless they are escaped. */
const slackSafe = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const lines = (...texts: (string | null)[]): string => texts.filter(Boolean).join('\n')

export function requestFor(provider: Provider, message: Message, signingKey: string | undefined): Post {
  const headers = { 'content-type': 'application/json' }
  const { title, link } = message
  switch (provider) {
    case 'slack':
      return { headers, body: JSON.stringify({ text: slackSafe(lines(`*${title}*`, message.message, link)) }) }
    case 'discord': {
      const content = lines(`**${title}**`, message.message, link).slice(0, DISCORD_MOST)
      return { headers, body: JSON.stringify({ content, allowed_mentions: { parse: [] } }) }
    }
    default: {
      const body = JSON.stringify(message)
      return { headers: { ...headers, 'x-tutti-signature': `sha256=${signatureOf(body, signingKey ?? '')}` }, body }
    }
  }
}

export const signatureOf = (body: string, key: string): string => createHmac('sha256', key).update(body).digest('hex')
