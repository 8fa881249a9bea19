import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** The one reader of the environment. Every setting is a line here; all problems are reported at once. */
type Parse<T> = (text: string) => T
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

const text: Parse<string> = (value) => value
const number =
  (min: number, max: number): Parse<number> =>
  (value) => {
    const n = /^\d+$/.test(value) ? Number(value) : Number.NaN
    if (Number.isNaN(n) || n < min || n > max) throw new Error(`must be a whole number from ${min} to ${max}`)
    return n
  }
const choice =
  <const T extends readonly string[]>(...values: T): Parse<T[number]> =>
  (value) => {
    if (!values.includes(value)) throw new Error(`must be one of: ${values.join(', ')}`)
    return value
  }
const list: Parse<string[]> = (value) =>
  value
    .split(',')
    .map((v) => v.trim())
    .filter(Boolean)
const hosts: Parse<string[]> = (value) =>
  list(value).map((host) => {
    if (!/^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(host))
      throw new Error(`takes host names without scheme or port, not ${host}`)
    return host
  })
const addresses: Parse<string[]> = (value) =>
  list(value).map((address) => {
    if (!isIP(address)) throw new Error(`takes single IP addresses, not ${address}`)
    return address
  })
const bindable: Parse<string> = (value) => {
  if (!isIP(value) && !/^[a-z0-9.-]+$/i.test(value)) throw new Error('must be an IP address or a host name')
  return value
}
const webUrl: Parse<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('must be an http:// or https:// address')
  if (url.pathname !== '/' || url.search || url.hash)
    throw new Error('must be an address without a path, such as https://tutti.example.com')
  return url.origin
}
const anyUrl: Parse<string> = (value) => {
  if (!URL.canParse(value) || !/^https?:/.test(value)) throw new Error('must be an http:// or https:// address')
  return value
}
const smtpUrl: Parse<string> = (value) => {
  if (!/^smtps?:\/\//.test(value) || !URL.canParse(value))
    throw new Error('must look like smtps://user:password@mail.example.com:465')
  return value
}
const databaseUrl: Parse<string> = (value) => {
  if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value))
    throw new Error('must look like postgres://user:password@host:5432/database')
  return value
}
const size: Parse<string> = (value) => {
  if (!/^\d+(kB|MB|GB)$/.test(value)) throw new Error('must look like 32MB')
  return value
}
const weak = /^(change[-_ ]?me|secret|password|default|example|test|tutti)/i
const secret =
  (least: number): Parse<string> =>
  (value) => {
    if (value.length < least) throw new Error(`must have at least ${least} characters`)
    if (weak.test(value) || new Set(value).size < 8)
      throw new Error('is a default or too simple; make one with: openssl rand -base64 32')
    return value
  }

const none = undefined as string | undefined

export const settings = {
  HOST: setting('Address to listen on; 127.0.0.1 unless you mean to be reached from outside', bindable, '127.0.0.1'),
  PORT: setting('Port to listen on', number(0, 65_535), 4242),
  DATA_DIR: setting('Folder for database, secrets and uploads', text, defaultDataDir()),
  APP_URL: setting('Base URL of the instance, as users type it', webUrl, none),
  ALLOWED_HOSTS: setting('Further host names the server answers to, comma separated', hosts, [] as string[]),
  TRUSTED_PROXIES: setting(
    'Addresses of reverse proxies whose X-Forwarded-For is believed, comma separated',
    addresses,
    [] as string[],
  ),
  DB_CONNECTION: setting(
    'pglite (embedded) or pgsql (DATABASE_URL)',
    choice('pglite', 'pgsql'),
    undefined as 'pglite' | 'pgsql' | undefined,
  ),
  DATABASE_URL: setting('External Postgres with pgvector; append ?sslmode=require for TLS', databaseUrl, none, true),
  DB_POOL_SIZE: setting('Connections to the external Postgres; a backup takes one of them', number(2, 200), 10),
  DB_DURABILITY: setting(
    'full: every answered write is on disk; relaxed: a power cut may lose the last 200 ms',
    choice('full', 'relaxed'),
    'full' as const,
  ),
  DB_SHARED_BUFFERS: setting('Page cache of the embedded database; raise it where there is much data', size, '16MB'),
  DB_MIN_FREE_MB: setting('Writes are refused when the disk has less room than this', number(0, 1_000_000), 100),
  DB_STATEMENT_TIMEOUT_MS: setting('A statement that runs longer is ended', number(100, 600_000), 5000),
  BACKUP_DIR: setting('Folder for scheduled backups, best on another disk; unset: none are made', text, none),
  BACKUP_EVERY_HOURS: setting('Hours between scheduled backups', number(1, 8760), 24),
  BACKUP_KEEP: setting('How many scheduled backups are kept', number(1, 10_000), 7),
  TUTTI_SECRET: setting(
    'Master secret; made at first start and kept in DATA_DIR/secret when unset',
    secret(32),
    none,
    true,
  ),
  OIDC_CLIENT_ID: setting('Client id at the OpenID Connect issuer', text, none),
  AUTH_BACKEND_URL: setting('OpenID Connect issuer for sign-in, found by discovery', anyUrl, none),
  AUTH_BACKEND_KEY: setting('Client secret at that issuer', text, none, true),
  CODEHOST_CLIENT_ID: setting('OAuth client id at the code host', text, none),
  CODEHOST_CLIENT_SECRET: setting('OAuth client secret at the code host', text, none, true),
  CODEHOST_PROVIDER: setting(
    'What kind of code host it is: github, gitea (Forgejo too) or gitlab',
    choice('github', 'gitea', 'gitlab'),
    'github' as 'github' | 'gitea' | 'gitlab',
  ),
  CODEHOST_URL: setting('Web address of the code host, for repositories and sign-in', anyUrl, 'https://github.com'),
  CODEHOST_API_URL: setting(
    'API address of the code host, where it is not the usual one',
    anyUrl,
    'https://api.github.com',
  ),
  GOOGLE_CLIENT_ID: setting('OAuth client id at Google', text, none),
  GOOGLE_CLIENT_SECRET: setting('OAuth client secret at Google', text, none, true),
  GOOGLE_ISSUER: setting('Issuer that stands for Google', anyUrl, 'https://accounts.google.com'),
  SMTP_URL: setting(
    'Mail server, such as smtps://user:password@mail.example.com; unset: mail is kept for administrators',
    smtpUrl,
    none,
    true,
  ),
  MAIL_FROM: setting('Sender of mails, such as Tutti <tutti@example.com>', text, none),
  ADMIN_SEES_CODES: setting(
    'auto: administrators can read out a one-time code only where mail cannot be sent; on: always; off: never',
    choice('auto', 'on', 'off'),
    'auto' as const,
  ),
  OUTBOUND: setting(
    'on: users may have their webhooks called; off: the server calls no address that a user gave',
    choice('on', 'off'),
    'on' as const,
  ),
  EMBEDDINGS: setting(
    'on: memories and search are found by their meaning too; off: by their words only, which spares a small machine the model',
    choice('on', 'off'),
    'on' as const,
  ),
  EMBEDDINGS_URL: setting(
    'OpenAI-compatible endpoint for embeddings, such as http://localhost:11434/v1; unset: the built-in model',
    anyUrl,
    none,
  ),
  EMBEDDINGS_MODEL: setting('Model at that endpoint', text, none),
  EMBEDDINGS_DIMENSIONS: setting('Dimensions of its vectors', number(1, 4000), undefined as number | undefined),
  EMBEDDINGS_KEY: setting('Key for that endpoint', text, none, true),
  CHAT_URL: setting(
    'OpenAI-compatible endpoint for answers to searches, such as http://localhost:11434/v1; unset: sources only',
    anyUrl,
    none,
  ),
  CHAT_MODEL: setting('Model at that endpoint', text, none),
  CHAT_KEY: setting('Key for that endpoint', text, none, true),
  CHAT_TIMEOUT_SECONDS: setting('How long an answer may take', number(1, 25), 20),
  BILLING_KEY: setting('Publishable key of the billing provider; unset: everything is included', text, none, true),
  REGISTRATION: setting(
    'open: anyone may register; closed: only administrators add people',
    choice('open', 'closed'),
    'open' as const,
  ),
  DEVICE_FLOW: setting(
    'on: command lines and devices are signed in by a code that people approve; off: not',
    choice('on', 'off'),
    'on' as const,
  ),
  METRICS_TOKEN: setting('Bearer token for /metrics; administrators can always read it', secret(16), none, true),
  RATE_LIMIT_PER_MINUTE: setting('Requests a minute for each credential', number(1, 1_000_000), 1200),
  RATE_LIMIT_BURST: setting('Requests at once for each credential', number(1, 1_000_000), 200),
  RATE_LIMIT_ANONYMOUS: setting('Requests a minute for each network without a credential', number(1, 1_000_000), 120),
  RATE_LIMIT_MCP: setting('Tool calls a minute for each MCP token', number(1, 1_000_000), 600),
  RATE_LIMIT_LOGIN: setting('Sign-in attempts a minute for each network', number(1, 1_000_000), 20),
  RATE_LIMIT_MAIL: setting(
    'Codes and links mailed to one address in 15 minutes; one a minute and 10 a day besides',
    number(1, 1_000_000),
    3,
  ),
  RATE_LIMIT_REGISTER: setting('Registrations an hour for each network', number(1, 1_000_000), 5),
  RATE_LIMIT_DEVICE: setting(
    'Devices that may ask to be signed in, in 10 minutes for each network',
    number(1, 1_000_000),
    30,
  ),
  MAX_BODY_BYTES: setting('Largest JSON body', number(1024, 64 << 20), 1 << 20),
  LOG_LEVEL: setting('debug, info, warn or error', choice('debug', 'info', 'warn', 'error'), 'info' as const),
}

type Settings = typeof settings
type Name = keyof Settings
export type Config = { readonly [K in Name]: Settings[K] extends Setting<infer T> ? T : never } & {
  readonly DB_CONNECTION: 'pglite' | 'pgsql'
  /** Where each value came from, for `tutti config`. */
  readonly sources: Readonly<Record<Name, 'default' | 'environment' | 'file' | 'option'>>
  /** The KEY=VALUE file that was read, if any. */
  readonly file?: string
}

/** An address without what lets somebody in: user, password and whatever stands behind the `?`. Other text stays as it is. */
export const withoutSecrets = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/)([^\s/?#]*@)?([^?]*)(\?.*)?$/is, (_, scheme, who, where, query) =>
    [scheme, who ? '(hidden)@' : '', where, query ? '?(hidden)' : ''].join(''),
  )

export class ConfigError extends Error {
  constructor(readonly problems: string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    )
    this.name = 'ConfigError'
  }
}

export interface ConfigInput {
  env?: Record<string, string | undefined>
  /** From the command line; wins over everything. */
  options?: Partial<Record<Name, string>>
  /** KEY=VALUE lines; default: CONFIG_FILE, else DATA_DIR/config.env if it exists. */
  file?: string
}

export function loadConfig({ env = process.env, options = {}, file }: ConfigInput = {}): Config {
  const problems: string[] = []
  const path = file ?? (env.CONFIG_FILE || undefined)
  const named = path === undefined ? {} : readFile(path, true, problems)
  const dataDir = resolve(options.DATA_DIR || env.DATA_DIR || named.DATA_DIR || defaultDataDir())
  const fromFile = path === undefined ? readFile(join(dataDir, 'config.env'), false, problems) : named
  if (path === undefined && fromFile.DATA_DIR)
    problems.push('DATA_DIR cannot be set in the config.env that lies in it; set it in the environment')
  const values: Record<string, unknown> = {}
  const sources: Record<string, string> = {}
  for (const [name, { parse, fallback }] of Object.entries(settings) as [Name, Setting<unknown>][]) {
    const [source, raw] = ([
      ['option', options[name]],
      ['environment', env[name]],
      ['file', fromFile[name]],
    ].find(([, value]) => value !== undefined && value !== '') ?? ['default', undefined]) as [
      string,
      string | undefined,
    ]
    sources[name] = source
    values[name] = fallback
    if (raw === undefined) continue
    try {
      values[name] = parse(raw)
    } catch (error) {
      problems.push(
        `${name} ${(error as Error).message}${settings[name].secret ? '' : ` (it is ${JSON.stringify(withoutSecrets(raw))})`}`,
      )
    }
  }
  values.DATA_DIR = dataDir
  values.DB_CONNECTION ??= values.DATABASE_URL ? 'pgsql' : 'pglite'
  if (values.DB_CONNECTION === 'pgsql' && !values.DATABASE_URL)
    problems.push('DB_CONNECTION is pgsql, so DATABASE_URL must be set')
  if (values.DB_CONNECTION === 'pglite' && values.DATABASE_URL)
    problems.push('DATABASE_URL is set but DB_CONNECTION is pglite; unset one of them')
  for (const [one, other] of pairs) {
    if (values[one] && !values[other]) problems.push(`${one} is set, so ${other} must be set too`)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const read = path === undefined ? join(dataDir, 'config.env') : resolve(path)
  return { ...values, sources, file: existsSync(read) ? read : undefined } as unknown as Config
}

/** Settings that mean nothing without another. */
const pairs: [Name, Name][] = [
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
]

/** As users reach it. On loopback it is `localhost`: passkeys need a name, and cookies of 127.0.0.1 and localhost are kept apart. */
export function urlOf({ APP_URL, HOST }: Pick<Config, 'APP_URL' | 'HOST'>, port: number): string {
  const local = ['127.0.0.1', '::1', '0.0.0.0', '::', 'localhost'].includes(HOST)
  return APP_URL ?? `http://${local ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST}:${port}`
}

function readFile(path: string, required: boolean, problems: string[]): Record<string, string> {
  if (!existsSync(path)) {
    if (required) problems.push(`the configuration file ${path} does not exist`)
    return {}
  }
  const found: Record<string, string> = {}
  for (const [index, line] of readFileSync(path, 'utf8').split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const [, name, value] = /^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (!name || value === undefined) problems.push(`${path} line ${index + 1} is not KEY=VALUE`)
    else if (!(name in settings)) problems.push(`${path} line ${index + 1}: ${name} is not a setting`)
    else found[name] = value.replace(/^(["'])(.*)\1$/, '$2')
  }
  return found
}

function defaultDataDir(): string {
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'tutti')
  if (process.platform === 'win32') return join(process.env.LOCALAPPDATA ?? homedir(), 'tutti')
  return join(process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'tutti')
}
