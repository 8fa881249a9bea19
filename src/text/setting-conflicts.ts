/** Settings that require another one. */
const pairs = [
  ['AUTH_BACKEND_URL', 'OIDC_CLIENT_ID'],
  ['OIDC_CLIENT_ID', 'AUTH_BACKEND_URL'],
  ['CODEHOST_CLIENT_ID', 'CODEHOST_CLIENT_SECRET'],
  ['CODEHOST_CLIENT_SECRET', 'CODEHOST_CLIENT_ID'],
  ['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET'],
  ['GOOGLE_CLIENT_SECRET', 'GOOGLE_CLIENT_ID'],
  ['SMTP_URL', 'MAIL_FROM'],
  ['EMBEDDINGS_URL', 'EMBEDDINGS_MODEL'],
  ['EMBEDDINGS_URL', 'EMBEDDINGS_DIMENSIONS'],
  ['CHAT_URL', 'CHAT_MODEL'],
  ['CHAT_MODEL', 'CHAT_URL'],
  ['LISTEN_URL', 'DATABASE_URL'],
  ['DATABASE_READ_URL', 'DATABASE_URL'],
  ['TUNNEL_DOMAIN', 'TUNNEL_PORT'],
  ['TUNNEL_DOMAIN', 'APP_URL'],
] as const

/** Whether cookies of one host could reach the other. */
const overlaps = (a: string, b: string): boolean => a === b || a.endsWith(`.${b}`) || b.endsWith(`.${a}`)

type Together = Partial<Record<(typeof pairs)[number][number], unknown>> & {
  DB_CONNECTION: 'pglite' | 'pgsql'
  DATABASE_URL?: string
  CHAT_MAX_SECONDS: number
  CHAT_TIMEOUT_SECONDS: number
  TUNNEL_DOMAIN?: string
  APP_URL?: string
  INSTANCE_URL?: string
  INSTANCE_NETWORK: 'public' | 'private'
}

/** Returns what is wrong with settings that are each right. */
export function settingConflicts(values: Together): string[] {
  const { DB_CONNECTION, DATABASE_URL, TUNNEL_DOMAIN, APP_URL } = values
  const problems: string[] = []
  if (DB_CONNECTION === 'pgsql' && !DATABASE_URL) problems.push('DB_CONNECTION is pgsql, so DATABASE_URL must be set')
  if (DB_CONNECTION === 'pglite' && DATABASE_URL)
    problems.push('DATABASE_URL is set but DB_CONNECTION is pglite; unset one of them')
  for (const [one, other] of pairs)
    if (values[one] && !values[other]) problems.push(`${one} is set, so ${other} must be set too`)
  if (values.CHAT_MAX_SECONDS <= values.CHAT_TIMEOUT_SECONDS)
    problems.push('CHAT_MAX_SECONDS must be greater than CHAT_TIMEOUT_SECONDS')
  if (TUNNEL_DOMAIN && APP_URL && overlaps(TUNNEL_DOMAIN, new URL(APP_URL).hostname))
    problems.push('TUNNEL_DOMAIN must be apart from the host of APP_URL: neither the same, nor above or below it')
  if (values.INSTANCE_URL?.startsWith('http:') && values.INSTANCE_NETWORK !== 'private')
    problems.push('INSTANCE_URL must be https://, unless INSTANCE_NETWORK=private')
  return problems
}
