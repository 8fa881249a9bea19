import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Ctx, contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { anonymous, system } from '../../src/auth/actor.ts'
import { hashPassword } from '../../src/auth/passwords.ts'
import type { Role } from '../../src/auth/policy.ts'
import { checkBackup, readBackup } from '../../src/backup/file.ts'
import { loadBackup } from '../../src/backup/load.ts'
import { secretPath } from '../../src/backup/save.ts'
import { loadConfig } from '../../src/config.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openDatabase } from '../../src/db/index.ts'
import type { AppWithFeatures } from '../../src/feature.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import * as keys from '../../src/features/tokens/keys.ts'
import type { McpTokenCreate } from '../../src/features/tokens/schema.ts'
import * as tokens from '../../src/features/tokens/service.ts'
import { createLog } from '../../src/log.ts'
import type { OutboundOptions } from '../../src/outside/outbound.ts'
import { type HttpServer, startHttp } from '../../src/server/server.ts'
import type { App } from '../../src/services.ts'
import { atEnd } from './cleanup.ts'
import { exampleHost } from './code-host.ts'
import { checkNames } from './named.ts'
import { migratedDatabase } from './postgres.ts'

/** One database for the whole test process (opening PGlite costs about 2,000 transactions); tests keep apart by using fresh people. */
let database: Promise<Driver> | undefined
/** Set once the database checks that an event names each changed record. */
let checked: Promise<void> | undefined
const folder = mkdtempSync(join(tmpdir(), 'tutti-test-'))

/** Everything the tested code logged; some tests search it for secrets. */
export const logged: string[] = []
const log = createLog('debug', (line) => void logged.push(line), false)

const settings = {
  HOST: '127.0.0.1',
  PORT: '0',
  DATA_DIR: folder,
  DB_MIN_FREE_MB: '0',
  DB_POOL_SIZE: '5', // each connection plans every statement anew
  DB_STATEMENT_TIMEOUT_MS: '60000', // a busy machine may take longer than the default for a statement
  EMBEDDINGS: process.env.TEST_EMBEDDINGS ?? 'on',
  PUSH: 'on', // so that the loops over all routes also reach its routes
  RATE_LIMIT_PER_MINUTE: '1000000',
  RATE_LIMIT_BURST: '1000000',
  RATE_LIMIT_ANONYMOUS: '1000000',
  RATE_LIMIT_MCP: '1000000',
  RATE_LIMIT_LOGIN: '1000000',
  RATE_LIMIT_REGISTER: '1000000',
  RATE_LIMIT_MAIL: '1000000',
}

async function openOnce(): Promise<Driver> {
  const { driver } = await openNew(folder)
  return driver
}

/** Opens a new database, which is removed at the end of the process. */
async function openNew(dataFolder: string): Promise<{ driver: Driver; env: Record<string, string> }> {
  const postgres = process.env.TEST_DB === 'postgres' ? await migratedDatabase() : undefined
  const env = { ...settings, DATA_DIR: dataFolder, ...(postgres && { DATABASE_URL: postgres.url }) }
  const driver = await openDatabase(loadConfig({ env }), log)
  const close = driver.close.bind(driver)
  atEnd(async () => {
    await close()
    await postgres?.drop()
    rmSync(dataFolder, { recursive: true, force: true })
  })
  return { driver, env }
}

/** A running server with a database of its own: another, empty installation. */
export async function otherInstallation(): Promise<TestApp> {
  const { driver, env } = await openNew(mkdtempSync(join(tmpdir(), 'tutti-test-')))
  return run(driver, env)
}

/** Another, new installation that was restored from a backup of this one: the data then, and the same secret. */
export async function restored({ app }: TestApp, file: string): Promise<TestApp> {
  const own = mkdtempSync(join(tmpdir(), 'tutti-test-'))
  cpSync(secretPath(app.config), join(own, 'secret'))
  const { driver, env } = await openNew(own)
  const { sha256 } = await checkBackup(file)
  await loadBackup(driver, () => readBackup(file, sha256), { identity: sha256 })
  return run(driver, env)
}

async function run(driver: Driver, env: Record<string, string>): Promise<TestApp> {
  const app = await createApp(loadConfig({ env }), { driver: withoutClose(driver), log, outbound: noNames })
  const server = startHttp(app, { checkAnswers: true })
  const close = async () => {
    await server.stop(100)
    await app.close()
  }
  atEnd(close)
  return { app, server, url: `http://127.0.0.1:${server.port}`, close }
}

/** The database outlives every app that uses it. Methods stay bound to the real one, which has private fields. */
const withoutClose = (driver: Driver): Driver =>
  new Proxy(driver, {
    get: (target, name) => {
      if (name === 'close') return async () => undefined
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

/** Tests ask no name server and call nobody outside, whatever address is in an example. */
const noNames: OutboundOptions = { resolve: async () => [] }

export interface TestApp {
  app: AppWithFeatures
  url: string
  server: HttpServer
  close(): Promise<void>
}

/** A running server with its own settings and clock, on the shared database. */
export async function testApp(
  overrides: Record<string, string> = {},
  clock?: () => Date,
  outbound: OutboundOptions = noNames,
): Promise<TestApp> {
  database ??= openOnce()
  const shared = await database
  const driver = withoutClose(shared)
  const app = await createApp(loadConfig({ env: { ...settings, ...overrides } }), {
    driver,
    log,
    clock,
    background: overrides.background !== 'off',
    outbound,
  })
  checked ??= checkNames(shared)
  await checked
  const server = startHttp(app, { checkAnswers: true })
  return {
    app,
    server,
    url: `http://127.0.0.1:${server.port}`,
    close: async () => {
      await server.stop(100)
      await app.close()
    },
  }
}

let plain: Promise<TestApp> | undefined
/** The one that most tests share: default settings, limits out of the way, and a code host within reach. */
export function sharedApp(): Promise<TestApp> {
  plain ??= testApp(exampleHost().settings).then((t) => {
    atEnd(() => t.close())
    return t
  })
  return plain
}

// ---- people

export const PASSWORD = 'violet anchor prefers rain'
let counter = 0
export const unique = (text: string): string =>
  `${text}-${process.pid.toString(36)}${(++counter).toString(36)}${Math.random().toString(36).slice(2, 6)}`

export interface Answer<T = Record<string, unknown>> {
  status: number
  body: T
  headers: Headers
}

export interface Person {
  userId: string
  email: string
  organizationId: string
  token: string
  refreshToken: string
  /** For calling actions directly, with the rights as they are now. */
  ctx(): Promise<Ctx>
  fetch<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>
}

export async function call<T = Record<string, unknown>>(
  t: Pick<TestApp, 'url'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<T>> {
  // A form brings its own type.
  const plain = body === undefined || body instanceof FormData
  const response = await fetch(t.url + path, {
    method,
    headers: { ...(plain ? {} : { 'content-type': 'application/json' }), ...headers },
    body: plain || typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  const json = /[/+]json\b/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: (json ? JSON.parse(text) : { text }) as T }
}

export const anyoneCtx = (t: TestApp): Ctx => contextOf(t.app, anonymous)
export const systemCtx = (t: TestApp): Ctx => contextOf(t.app, system)

/** One hash for everybody: hashing is slow on purpose, and took half of the time of all tests. */
let hash: Promise<string> | undefined

/** `confirmed`: their e-mail address is, so that a mailed code or link signs them in. */
export async function person(
  t: TestApp,
  { name = 'Ada Lovelace', admin = false, confirmed = false } = {},
): Promise<Person> {
  const email = `${unique('ada')}@example.com`
  hash ??= hashPassword(PASSWORD)
  const { token, refreshToken, user } = await accounts.addUser(anyoneCtx(t), {
    email,
    name,
    passwordHash: await hash,
    role: admin ? 'admin' : 'user',
    emailVerified: confirmed,
  })
  const actor = await t.app.auth.authenticate(token)
  const stay = staying(t.app, user.id, actor.session?.authenticatedAt)
  const access = renewing(t.app, token, { userId: user.id, sessionId: actor.credentialId as string })
  return {
    userId: user.id,
    email,
    organizationId: actor.organizationId as string,
    token,
    refreshToken,
    ctx: async () => {
      await stay()
      return contextOf(t.app, await t.app.auth.authenticate(await access()))
    },
    fetch: async (method, path, body, headers = {}) => {
      await stay()
      return call(t, method, path, body, { authorization: `Bearer ${await access()}`, ...headers })
    },
  }
}

const STALE_MS = 120_000

/**
 * Some calls need a proof of identity of the last five minutes, and on a busy machine the tests of a file take longer.
 * Returns what renews the proof now and then, unless a test has changed it or moves the clock.
 */
function staying({ driver, clock }: App, userId: string, proof: string | null | undefined): () => Promise<void> {
  let last = proof
  let at = Date.now()
  return async () => {
    if (Date.now() - at < STALE_MS || Math.abs(clock().getTime() - Date.now()) > 1000) return
    at = Date.now()
    const now = clock().toISOString()
    const text = 'update login_sessions set authenticated_at = $3 where user_id = $1 and authenticated_at = $2'
    const { count } = await driver.query(text, [userId, last, now])
    last = count > 0 ? now : last
  }
}

/**
 * An access token works for 15 minutes, and a process with many files takes longer on a busy machine. Returns what gets
 * another token of the same session in time, unless a test moves the clock.
 */
function renewing({ jwt, clock }: App, token: string, session: Parameters<App['jwt']['sign']>[0]) {
  let at = Date.now()
  let current = token
  return async (): Promise<string> => {
    if (Date.now() - at < STALE_MS || Math.abs(clock().getTime() - Date.now()) > 1000) return current
    at = Date.now()
    current = (await jwt.sign(session, clock())).token
    return current
  }
}

/** Joins as a member of the owner's organization and works in it. */
export async function member(t: TestApp, owner: Person, role: Role, name = 'Grace Hopper'): Promise<Person> {
  const joined = await person(t, { name })
  await addMember(systemCtx(t), { id: owner.organizationId, userId: joined.userId, role })
  const inTeam = { 'x-organization-id': owner.organizationId }
  return {
    ...joined,
    organizationId: owner.organizationId,
    fetch: (m, p, b, h = {}) => joined.fetch(m, p, b, { ...inTeam, ...h }),
  }
}

export async function mcpToken(_t: TestApp, who: Person, options: Partial<McpTokenCreate> = {}): Promise<string> {
  const { token } = await tokens.createToken(await who.ctx(), {
    name: 'agent',
    organizationId: who.organizationId,
    ...options,
  })
  return token as string
}

/** As if the person had confirmed who they are just now, whatever the clock of the test says. */
export async function apiKey(_t: TestApp, who: Person, scopes?: string[]): Promise<string> {
  const ctx = await who.ctx()
  const session = ctx.actor.session && { ...ctx.actor.session, authenticatedAt: ctx.now }
  const actor = { ...ctx.actor, session }
  const { token } = await keys.createKey({ ...ctx, actor }, { name: 'key', ...(scopes && { scopes }) })
  return token as string
}
