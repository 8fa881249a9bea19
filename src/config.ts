import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { settingConflicts } from './text/setting-conflicts.ts'
import { ConfigError, defaultDataDir, readSettings } from './text/setting-file.ts'
import {
  addresses,
  anyUrl,
  bindable,
  choice,
  databaseUrl,
  hideCredentials,
  host,
  hostEntries,
  hosts,
  number,
  type Parse,
  secret,
  size,
  smtpUrl,
  text,
  webUrl,
} from './text/setting-values.ts'

export { ConfigError } from './text/setting-file.ts'

/** The only reader of the environment. Every setting is one entry here; all problems are reported together. */
interface Setting<T> {
  about: string
  parse: Parse<T>
  fallback: T
  secret?: true
}

const setting = <T>(about: string, parse: Parse<T>, fallback: T, secret?: true): Setting<T> => ({
  about,
  parse,
  fallback,
  secret,
})

const none = undefined as string | undefined
const noNumber = undefined as number | undefined
const noTexts: string[] = []

export const settings = {
  HOST: setting('Address to listen on; 127.0.0.1 accepts local connections only', bindable, '127.0.0.1'),
  PORT: setting('Port to listen on', number(0, 65_535), 4242),
  DATA_DIR: setting('Folder for the database, secrets and uploads', text, defaultDataDir(process.env)),
  APP_URL: setting('Address that users open, such as https://tutti.example.com', webUrl, none),
  ALLOWED_HOSTS: setting('Other host names that the server accepts, separated by commas', hosts, noTexts),
  TRUSTED_PROXIES: setting(
    'Addresses of reverse proxies whose X-Forwarded-For is trusted, separated by commas',
    addresses,
    noTexts,
  ),
  DB_CONNECTION: setting(
    'pglite (embedded) or pgsql (DATABASE_URL)',
    choice('pglite', 'pgsql'),
    undefined as 'pglite' | 'pgsql' | undefined,
  ),
  DATABASE_URL: setting(
    'Address of an external Postgres with pgvector; append ?sslmode=require for TLS; several hosts separated by commas: the one that accepts writes',
    databaseUrl,
    none,
    true,
  ),
  LISTEN_URL: setting(
    'Address of the same Postgres without the connection pooler, for notifications and migrations; unset: DATABASE_URL',
    databaseUrl,
    none,
    true,
  ),
  DATABASE_READ_URL: setting(
    'Address of a standby of that Postgres, from which exports, backups and analytics are read; unset: all from DATABASE_URL',
    databaseUrl,
    none,
    true,
  ),
  DATABASE_WAIT: setting('Seconds to wait for Postgres at the start; 0: do not wait', number(0, 86_400), 60),
  DB_POOL_SIZE: setting(
    'Connections to the external Postgres; two are kept for reads, one of which a backup uses',
    number(2, 200),
    10,
  ),
  DB_DURABILITY: setting(
    'full: every confirmed write is on disk; relaxed: a power cut may lose the last 200 ms',
    choice('full', 'relaxed'),
    'full' as const,
  ),
  DB_SHARED_BUFFERS: setting(
    'Page cache of the embedded database; increase it for large amounts of data',
    size,
    '16MB',
  ),
  DB_MIN_FREE_MB: setting('Free disk space in MB below which writes are refused', number(0, 1_000_000), 100),
  DB_STATEMENT_TIMEOUT_MS: setting('Time limit of a database statement in milliseconds', number(100, 600_000), 5000),
  BACKUP_DIR: setting(
    'Folder for scheduled backups, preferably on another disk; unset: no scheduled backups',
    text,
    none,
  ),
  BACKUP_EVERY_HOURS: setting('Hours between scheduled backups', number(1, 8760), 24),
  BACKUP_KEEP: setting('Number of scheduled backups to keep', number(1, 10_000), 7),
  TUTTI_SECRET: setting(
    'Master secret; unset: generated at the first start and stored in DATA_DIR/secret',
    secret(32),
    none,
    true,
  ),
  OIDC_CLIENT_ID: setting('Client id at the OpenID Connect issuer', text, none),
  AUTH_BACKEND_URL: setting('OpenID Connect issuer for sign-in; it must support discovery', anyUrl, none),
  AUTH_BACKEND_KEY: setting('Client secret at that issuer', text, none, true),
  CODEHOST_CLIENT_ID: setting('OAuth client id at the code host', text, none),
  CODEHOST_CLIENT_SECRET: setting('OAuth client secret at the code host', text, none, true),
  CODEHOST_PROVIDER: setting(
    'Kind of code host: github, gitea (also for Forgejo) or gitlab',
    choice('github', 'gitea', 'gitlab'),
    'github' as 'github' | 'gitea' | 'gitlab',
  ),
  CODEHOST_URL: setting('Web address of the code host, for repositories and sign-in', anyUrl, 'https://github.com'),
  CODEHOST_API_URL: setting(
    'API address of the code host, if it is not the usual one',
    anyUrl,
    'https://api.github.com',
  ),
  GOOGLE_CLIENT_ID: setting('OAuth client id at Google', text, none),
  GOOGLE_CLIENT_SECRET: setting('OAuth client secret at Google', text, none, true),
  GOOGLE_ISSUER: setting('OpenID Connect issuer of Google', anyUrl, 'https://accounts.google.com'),
  SMTP_URL: setting(
    'Mail server, such as smtps://user:password@mail.example.com; unset: administrators read the mail in the outbox',
    smtpUrl,
    none,
    true,
  ),
  MAIL_FROM: setting('Sender of mail, such as Tutti <tutti@example.com>', text, none),
  ADMIN_SEES_CODES: setting(
    'auto: administrators can see one-time codes only if mail cannot be sent; on: always; off: never',
    choice('auto', 'on', 'off'),
    'auto' as const,
  ),
  OUTBOUND: setting(
    'on: users may set up webhooks; off: the server sends no requests to addresses of users',
    choice('on', 'off'),
    'on' as const,
  ),
  OUTBOUND_ALLOW: setting('Private hosts that users may give, such as git.lan:3000, 10.0.0.0/8', hostEntries, noTexts),
  PUSH: setting('on: users can receive notifications in browsers and on phones', choice('on', 'off'), 'off' as const),
  EMBEDDINGS: setting(
    'on: search by meaning and words; off: by words only, which saves memory on a small server',
    choice('on', 'off'),
    'on' as const,
  ),
  EMBEDDINGS_URL: setting(
    'OpenAI-compatible endpoint for embeddings, such as http://localhost:11434/v1; unset: the built-in model',
    anyUrl,
    none,
  ),
  EMBEDDINGS_MODEL: setting('Model at that endpoint', text, none),
  EMBEDDINGS_DIMENSIONS: setting('Number of dimensions of its vectors', number(1, 4000), noNumber),
  EMBEDDINGS_KEY: setting('API key for that endpoint', text, none, true),
  CHAT_URL: setting(
    'OpenAI-compatible endpoint that writes answers, such as http://localhost:11434/v1; unset: only search results',
    anyUrl,
    none,
  ),
  CHAT_MODEL: setting('Model at that endpoint', text, none),
  CHAT_KEY: setting('API key for that endpoint', text, none, true),
  CHAT_TIMEOUT_SECONDS: setting('Time limit for the first word of an answer in seconds', number(1, 300), 20),
  CHAT_MAX_SECONDS: setting('Time limit of a whole answer of the assistant in seconds', number(2, 600), 120),
  CHAT_CONTEXT_TOKENS: setting('Tokens that the model can read at once', number(2000, 1_000_000), 8000),
  CHAT_TOOLS: setting(
    'auto: the assistant lets the model search and read, if the server accepts tools; off: it never does',
    choice('auto', 'off'),
    'auto' as const,
  ),
  CHAT_PARALLEL: setting('Answers of the assistant that are written at once', number(1, 1000), 4),
  CHAT_DAILY_TOKENS: setting('Tokens of the model for each user and day; 0: no limit', number(0, 1_000_000_000), 0),
  BILLING_KEY: setting(
    'Publishable key of a billing provider, which anyone can read in the setting billing, for your own pricing page only',
    text,
    none,
    true,
  ),
  REGISTRATION: setting(
    'open: anyone may register; closed: only administrators add users',
    choice('open', 'closed'),
    'open' as const,
  ),
  DEVICE_FLOW: setting(
    'on: users can sign in command lines and devices by approving a code; off: they cannot',
    choice('on', 'off'),
    'on' as const,
  ),
  OAUTH: setting(
    'auto: agents may sign in with a browser where the address is https or this computer; on: always; off: never',
    choice('auto', 'on', 'off'),
    'auto' as 'auto' | 'on' | 'off',
  ),
  TUNNEL_PORT: setting('Port for tunnel services; unset: services cannot be opened', number(0, 65_535), noNumber),
  TUNNEL_PROXY_PORT: setting('Port of the proxy in front of TUNNEL_PORT, if not 443', number(1, 65_535), noNumber),
  TUNNEL_DOMAIN: setting('Domain whose subdomains are services of tunnels; unset: localhost, and by path', host, none),
  TUNNEL_PUBLIC: setting(
    'on: tunnels may be opened to anyone; off: only to members',
    choice('on', 'off'),
    'off' as const,
  ),
  INSTANCE_URL: setting('Address at which other instances on the same database reach this one', webUrl, none),
  INSTANCE_NETWORK: setting(
    'public: INSTANCE_URL must be https://; private: only instances can reach it, so that http:// is allowed',
    choice('public', 'private'),
    'public' as const,
  ),
  TUNNEL_RATE: setting('Requests per second through each tunnel; twice as many at once', number(1, 1_000_000), 100),
  METRICS_TOKEN: setting('Bearer token for /metrics; administrators can always read it', secret(16), none, true),
  RATE_LIMIT_PER_MINUTE: setting('Requests per minute for each credential', number(1, 1_000_000), 1200),
  RATE_LIMIT_BURST: setting('Requests at once for each credential', number(1, 1_000_000), 200),
  RATE_LIMIT_ANONYMOUS: setting('Requests per minute for each network without a credential', number(1, 1_000_000), 120),
  RATE_LIMIT_MCP: setting('Tool calls per minute for each MCP token', number(1, 1_000_000), 600),
  RATE_LIMIT_LOGIN: setting('Sign-in attempts per minute for each network', number(1, 1_000_000), 20),
  RATE_LIMIT_MAIL: setting(
    'Codes and links mailed to one address in 15 minutes; also at most 1 per minute and 10 per day',
    number(1, 1_000_000),
    3,
  ),
  RATE_LIMIT_REGISTER: setting('Registrations per hour for each network', number(1, 1_000_000), 5),
  RATE_LIMIT_DEVICE: setting('Device sign-in requests in 10 minutes for each network', number(1, 1_000_000), 30),
  MAX_BODY_BYTES: setting('Maximum size of a JSON body in bytes', number(1024, 64 << 20), 1 << 20),
  LOG_LEVEL: setting('debug, info, warn or error', choice('debug', 'info', 'warn', 'error'), 'info' as const),
}

type Settings = typeof settings
type Name = keyof Settings
type Values = { readonly [K in Name]: Settings[K] extends Setting<infer T> ? T : never }
type SettingSource = 'default' | 'environment' | 'file' | 'option'
export type Config = Values & {
  readonly DB_CONNECTION: 'pglite' | 'pgsql'
  /** Where each value came from, for `tutti config`. */
  readonly sources: Readonly<Record<Name, SettingSource>>
  /** The KEY=VALUE file that was read, if any. */
  readonly file?: string
}

interface ConfigInput {
  env?: Record<string, string | undefined>
  /** Values from the command line, which take precedence. */
  options?: Partial<Record<Name, string>>
  /** File with KEY=VALUE lines (default: CONFIG_FILE, or else DATA_DIR/config.env if it exists). */
  file?: string
}

export function loadConfig({ env = process.env, options = {}, file }: ConfigInput = {}): Config {
  const problems: string[] = []
  const path = file ?? (env.CONFIG_FILE || undefined)
  const readFile = (at: string, required: boolean) =>
    readSettings(at, { required, isKnown: (name) => name in settings, problems })
  const named = path === undefined ? {} : readFile(path, true)
  const dataDir = resolve(options.DATA_DIR || env.DATA_DIR || named.DATA_DIR || defaultDataDir(process.env))
  const fromFile = path === undefined ? readFile(join(dataDir, 'config.env'), false) : named
  if (path === undefined && fromFile.DATA_DIR)
    problems.push('DATA_DIR cannot be set in DATA_DIR/config.env; set it in the environment')
  const given = forEachName((name): { source: SettingSource; text?: string } => {
    if (options[name]) return { source: 'option', text: options[name] }
    if (env[name]) return { source: 'environment', text: env[name] }
    if (fromFile[name]) return { source: 'file', text: fromFile[name] }
    return { source: 'default' }
  })
  const values = readValues((name, { parse, fallback, secret }) => {
    const { text } = given[name]
    if (text === undefined) return fallback
    try {
      return parse(text)
    } catch (error) {
      const shown = secret ? '' : ` (it is ${JSON.stringify(hideCredentials(text))})`
      problems.push(`${name} ${(error as Error).message}${shown}`)
      return fallback
    }
  })
  const DB_CONNECTION = values.DB_CONNECTION ?? (values.DATABASE_URL ? 'pgsql' : 'pglite')
  problems.push(...settingConflicts({ ...values, DB_CONNECTION }))
  if (problems.length > 0) throw new ConfigError(problems)
  const read = path === undefined ? join(dataDir, 'config.env') : resolve(path)
  return {
    ...values,
    DATA_DIR: dataDir,
    DB_CONNECTION,
    sources: forEachName((name) => given[name].source),
    file: existsSync(read) ? read : undefined,
  }
}

const names = Object.keys(settings) as Name[]

const forEachName = <T>(make: (name: Name) => T): Record<Name, T> =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>

/** Reads every setting with its own type. */
const readValues = (read: <T>(name: Name, setting: Setting<T>) => T): Values =>
  Object.fromEntries(names.map((name) => [name, read<unknown>(name, settings[name] as Setting<unknown>)])) as Values
