import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../src/app.ts'
import { newSecret, prefixes, type SecretKind, secretKind } from '../src/auth/secrets.ts'
import { type Config, ConfigError, loadConfig, settings } from '../src/config.ts'
import type { Driver } from '../src/db/driver.ts'
import * as accounts from '../src/features/accounts/service.ts'
import { createLog } from '../src/log.ts'
import { dump } from './contract/tables.ts'
import { call, logged, mcpToken, PASSWORD, person, sharedApp, systemCtx, unique } from './support/app.ts'
import { decoy, metricsOf, plant } from './support/planted.ts'

const folder = mkdtempSync(join(tmpdir(), 'tutti-secrets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let folders = 0
const fresh = (): string => join(folder, String(++folders))
const STRONG = 'wT7kPz3vQm9LxYb2RcNf8HjDs5GgUa4E'

describe('configuration', () => {
  const problemsOf = (env: Record<string, string>, file?: string): string[] => {
    try {
      loadConfig({ env: { DATA_DIR: fresh(), ...env }, file })
      return []
    } catch (error) {
      if (error instanceof ConfigError) return error.problems
      throw error
    }
  }

  test('refuses a TUNNEL_DOMAIN that is the host of APP_URL, its parent or its subdomain', () => {
    const apart = (TUNNEL_DOMAIN: string) =>
      problemsOf({ TUNNEL_DOMAIN, TUNNEL_PORT: '4243', APP_URL: 'https://tutti.example.com' }).length === 0
    for (const domain of ['tutti.example.com', 'TUTTI.example.com', 'example.com', 'com', 't.tutti.example.com'])
      expect([domain, apart(domain)]).toEqual([domain, false])
    for (const domain of ['tunnels.example.com', 'tutti.example.org', 'notexample.com'])
      expect([domain, apart(domain)]).toEqual([domain, true])
  })

  test('works with an empty environment, and listens only on this computer', () => {
    const config = loadConfig({ env: { DATA_DIR: fresh() } })
    expect(config).toMatchObject({
      HOST: '127.0.0.1',
      DB_CONNECTION: 'pglite',
      TRUSTED_PROXIES: [],
      ALLOWED_HOSTS: [],
      TUTTI_SECRET: undefined,
      METRICS_TOKEN: undefined,
    })
  })

  test('reports all invalid settings at once, by name', () => {
    const wrong = {
      PORT: 'many',
      APP_URL: 'tutti.example.com/path',
      DB_CONNECTION: 'mysql',
      DATABASE_URL: 'mysql://x',
      TUTTI_SECRET: 'short',
      RATE_LIMIT_BURST: '0',
      LOG_LEVEL: 'loud',
      MAX_BODY_BYTES: '1.5',
    }
    const problems = problemsOf(wrong)
    for (const name of Object.keys(wrong))
      expect([name, problems.filter((p) => p.startsWith(name)).length]).toEqual([name, 1])
    expect(problems).toHaveLength(Object.keys(wrong).length)
    expect(() => loadConfig({ env: { DATA_DIR: fresh(), ...wrong } })).toThrow(/8 problems:\n {2}- PORT/)
  })

  test('shows invalid values in its errors, but no secrets', () => {
    const problems = problemsOf({
      TUTTI_SECRET: 'hunter2hunter2',
      METRICS_TOKEN: 'hunter3',
      DATABASE_URL: 'hunter4',
      PORT: '99999',
    }).join('\n')
    expect(problems).not.toMatch(/hunter\d/)
    expect(problems).toContain('"99999"')
  })

  test('marks every secret setting as secret', () => {
    const secret = Object.entries(settings)
      .filter(([, setting]) => setting.secret)
      .map(([name]) => name)
    expect(secret).toEqual(
      expect.arrayContaining([
        'TUTTI_SECRET',
        'DATABASE_URL',
        'METRICS_TOKEN',
        'AUTH_BACKEND_KEY',
        'CODEHOST_CLIENT_SECRET',
      ]),
    )
    // Numbers of tokens of a chat model are not secrets.
    const counts = ['CHAT_CONTEXT_TOKENS', 'CHAT_DAILY_TOKENS']
    const sounding = Object.keys(settings).filter((name) => /SECRET|_KEY$|TOKEN|PASSWORD/.test(name))
    expect(sounding.filter((name) => !secret.includes(name))).toEqual(counts)
  })

  test.each([
    'change-me',
    'changeme-changeme-changeme-changeme',
    'secret',
    'secretsecretsecretsecretsecretsecret',
    'PASSWORD-PASSWORD-PASSWORD-PASSWORD',
    'default-secret-for-development-only',
    'example-example-example-example-ex',
    'test-secret-0123456789-0123456789',
    'tutti-tutti-tutti-tutti-tutti-tutti',
    'a'.repeat(64),
    'abababababababababababababababab',
    '0'.repeat(32),
    'x'.repeat(31),
  ])('refuses TUTTI_SECRET=%s', (value) => {
    expect(problemsOf({ TUTTI_SECRET: value })).toEqual([
      expect.stringMatching(/^TUTTI_SECRET (must have at least 32|is a default value or too simple)/),
    ])
  })

  test('accepts a strong TUTTI_SECRET, from the environment or a file', () => {
    expect(problemsOf({ TUTTI_SECRET: STRONG })).toEqual([])
    const file = join(folder, 'config.env')
    writeFileSync(file, `# ours\nexport TUTTI_SECRET="${STRONG}"\n\nPORT=8080\n`)
    expect(loadConfig({ env: { DATA_DIR: fresh(), CONFIG_FILE: file } })).toMatchObject({
      TUTTI_SECRET: STRONG,
      PORT: 8080,
      sources: { TUTTI_SECRET: 'file', HOST: 'default' },
    })
    writeFileSync(file, 'TUTTI_SECRTE=x\nnonsense\n')
    expect(problemsOf({}, file)).toEqual([
      `${file} line 1: TUTTI_SECRTE is not a setting`,
      `${file} line 2 is not KEY=VALUE`,
    ])
    expect(problemsOf({ CONFIG_FILE: join(folder, 'absent.env') })).toEqual([expect.stringContaining('does not exist')])
  })
})

describe('the master secret', () => {
  let driver: Driver
  beforeAll(async () => {
    const { app } = await sharedApp()
    driver = app.driver
  })

  /** Starts on the shared database, but without a fingerprint, or with the one in `meta`. */
  async function start(config: Config, meta: Map<string, string>): Promise<string> {
    const own: Partial<Driver> = {
      close: async () => undefined,
      query: async (text, params = [], options) => {
        if (!text.includes('insert into meta')) return driver.query(text, params, options)
        if (!meta.has('secret')) meta.set('secret', String(params[0]))
        return { columns: ['value'], rows: [[meta.get('secret')]], count: 1 }
      },
    }
    const over = new Proxy(driver, {
      get: (target, name) => own[name as keyof Driver] ?? Reflect.get(target, name, target),
    })
    const app = await createApp(config, { driver: over, background: false, log: createLog('error', () => undefined) })
    await app.close()
    return app.secret
  }
  /** Not `expect().rejects`, which blocks the thread that the embedded database's answers arrive on. */
  const refusal = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'it started',
      (error: Error) => error.message,
    )
  const configIn = (dir: string, more: Record<string, string> = {}) => loadConfig({ env: { DATA_DIR: dir, ...more } })

  test('is created at the first start, readable by the owner only, and read at the next', async () => {
    const [dir, meta] = [fresh(), new Map<string, string>()]
    const first = await start(configIn(dir), meta)
    expect(first).toMatch(/^[\w-]{43}$/)
    expect(statSync(join(dir, 'secret')).mode & 0o777).toBe(0o600)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    expect(readFileSync(join(dir, 'secret'), 'utf8').trim()).toBe(first)
    expect(await start(configIn(dir), meta)).toBe(first)
    expect(await start(configIn(fresh()), new Map())).not.toBe(first)
  })

  test('is stored in the database only as a fingerprint', async () => {
    const [dir, meta] = [fresh(), new Map<string, string>()]
    const secret = await start(configIn(dir), meta)
    expect(meta.get('secret')).toMatch(/^[0-9a-f]{64}$/)
    expect(meta.get('secret')).not.toContain(Buffer.from(secret, 'base64url').toString('hex'))
    expect(meta.get('secret')).not.toBe(new Bun.CryptoHasher('sha256').update(secret).digest('hex'))
  })

  test('is not written to disk if it comes from the environment', async () => {
    const dir = fresh()
    expect(await start(configIn(dir, { TUTTI_SECRET: STRONG }), new Map())).toBe(STRONG)
    expect(existsSync(join(dir, 'secret'))).toBe(false)
  })

  test('is refused if the database belongs to another secret, and nothing changes', async () => {
    const meta = new Map<string, string>()
    await start(configIn(fresh()), meta)
    const mark = meta.get('secret')
    const other = fresh()
    expect(await refusal(start(configIn(other), meta))).toMatch(/another master secret.*Copy the file "secret"/)
    expect(await refusal(start(configIn(fresh(), { TUTTI_SECRET: STRONG }), meta))).toMatch('another master secret')
    expect(meta.get('secret')).toBe(mark as string)
  })

  test('is refused if the shared database of these tests has another one', async () => {
    const kept = new Proxy(driver, {
      get: (target, name) => (name === 'close' ? async () => undefined : Reflect.get(target, name, target)),
    })
    const options = { driver: kept, background: false, log: createLog('error', () => undefined) }
    expect(await refusal(createApp(configIn(fresh(), { TUTTI_SECRET: STRONG }), options))).toMatch(
      'another master secret',
    )
  })

  test('is refused from a file that is damaged or readable by others', async () => {
    const [dir, meta] = [fresh(), new Map<string, string>()]
    await start(configIn(dir), meta)
    chmodSync(join(dir, 'secret'), 0o640)
    expect(await refusal(start(configIn(dir), meta))).toMatch('chmod 600')
    const damaged = fresh()
    mkdirSync(damaged)
    writeFileSync(join(damaged, 'secret'), 'short\n', { mode: 0o600 })
    expect(await refusal(start(configIn(damaged), new Map()))).toMatch('Restore it from a backup')
  })
})

describe('bearer secrets', () => {
  const kinds = Object.keys(prefixes) as SecretKind[]

  test.each(kinds)('of kind %s have a prefix, 32 letters and a checksum', (kind) => {
    const secret = newSecret(kind)
    expect(secret).toMatch(new RegExp(`^${prefixes[kind]}[0-9A-Za-z]{38}$`))
    expect(secretKind(secret)).toBe(kind)
    for (const at of secret.split('').keys()) {
      const changed = secret.slice(0, at) + (secret[at] === 'A' ? 'B' : 'A') + secret.slice(at + 1)
      expect([changed, secretKind(changed)]).toEqual([changed, undefined])
    }
  })

  test('are unique, with evenly distributed letters', () => {
    const many = Array.from({ length: 2000 }, () => newSecret('api_key').slice(4, 36))
    expect(new Set(many).size).toBe(many.length)
    const counts = Map.groupBy(many.join(''), (letter) => letter)
    expect(counts.size).toBe(62)
    const expected = (2000 * 32) / 62
    const chi = [...counts.values()].reduce((sum, { length }) => sum + (length - expected) ** 2 / expected, 0)
    // 61 degrees of freedom: beyond this once in ten million runs.
    expect(chi).toBeLessThan(130)
  })
})

describe('the log', () => {
  const lines: string[] = []
  const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ'
  const secrets = {
    key: newSecret('api_key'),
    live: newSecret('mcp_live'),
    setup: newSecret('setup'),
    refresh: newSecret('refresh'),
    jwt,
  }
  const everySecret = Object.values(secrets)

  const written = (pretty: boolean, message: string, fields: object): string => {
    lines.length = 0
    createLog('debug', (line) => void lines.push(line), pretty).info(message, fields)
    return lines.join('')
  }

  test.each([true, false])('masks values that look like a secret, anywhere (pretty: %p)', (pretty) => {
    for (const secret of everySecret) {
      const places: [string, object][] = [
        [`used ${secret} twice`, {}],
        ['call', { url: `/api/ws?token=${secret}&x=1` }],
        ['call', { url: `/setup#${secret}` }],
        ['call', { url: `/x?next=%2Fsetup%23${encodeURIComponent(secret)}` }],
        ['call', { header: `Bearer ${secret}` }],
        ['call', { header: `Bearer%20${secret}` }],
        ['call', { curl: `-H'authorization:Bearer ${secret}'` }],
        ['call', { nested: { list: [{ value: secret }] } }],
        ['call', { text: `x${secret}` }],
        ['failed', { error: new Error(`bad ${secret}`) }],
        ['failed', { error: new Error('outer', { cause: new Error(`inner ${secret}`) }) }],
        ['failed', { error: Object.assign(new Error('x'), { code: secret }) }],
      ]
      for (const [message, fields] of places)
        expect([secret.slice(0, 8), fields, written(pretty, message, fields).includes(secret)]).toEqual([
          secret.slice(0, 8),
          fields,
          false,
        ])
    }
  })

  test.each([true, false])('keeps counts and states, whatever their names (pretty: %p)', (pretty) => {
    const line = written(pretty, 'old rows removed', { oneTimeSecrets: 12, refresh_tokens: 3, password: true })
    expect(line).not.toContain('redacted')
    expect(line).toMatch(/oneTimeSecrets"?[:=]12/)
  })

  test.each([true, false])('masks values with the name of a secret (pretty: %p)', (pretty) => {
    for (const name of [
      'password',
      'passwordHash',
      'newPassword',
      'secret',
      'clientSecret',
      'token',
      'refreshToken',
      'authorization',
      'Authorization',
      'cookie',
      'set-cookie',
      'apiKey',
      'api_key',
      'hash',
    ])
      for (const value of ['violet', ['violet'], { value: 'violet' }])
        expect([name, written(pretty, 'x', { [name]: value }).includes('violet')]).toEqual([name, false])
    expect(written(pretty, 'x', { inner: { password: 'violet' } })).not.toContain('violet')
  })

  test('masks the password in an address, and keeps the rest readable', () => {
    const line = written(false, 'connecting to postgres://tutti:vio%3Alet@db:5432/tutti', {
      code: 42,
      path: '/api/notes',
      requestId: 'r-1',
    })
    expect(line).not.toContain('vio%3Alet')
    expect(JSON.parse(line)).toMatchObject({
      message: 'connecting to postgres://tutti:[redacted]@db:5432/tutti',
      code: 42,
      path: '/api/notes',
      requestId: 'r-1',
    })
  })

  test('writes one line for each entry, whatever it contains', () => {
    const line = written(false, 'a\nb', { text: 'c\r\nd\u2028' })
    expect(line.trimEnd()).not.toContain('\n')
    expect(JSON.parse(line)).toMatchObject({ message: 'a\nb', text: 'c\r\nd\u2028' })
  })
})

/** Runs after everything else in this process, so it also sees what the other tests left behind. */
describe('secrets after a tour of the product', () => {
  const seen = new Set<string>([PASSWORD])
  const collect = (value: unknown): void => {
    for (const found of JSON.stringify(value).matchAll(/svc_[0-9A-Za-z_]{38,}|eyJ[\w-]+\.[\w-]+\.[\w-]+/g))
      seen.add(found[0])
  }

  /** Errors, redirects and metrics, as callers received them. */
  const shown: string[] = []

  beforeAll(async () => {
    const t = await sharedApp()
    const email = `${unique('tour')}@example.com`
    const own = 'marmalade ladder eleven ships'
    seen.add(own)
    const setup = await accounts.issueSetupToken(systemCtx(t), {})
    collect(setup)
    for (const [path, body] of [
      ['/api/auth/register', { email, password: own, name: 'Tour' }],
      ['/api/auth/login', { email, password: own }],
      ['/api/auth/login', { email, password: `${own} wrong` }],
      ['/api/auth/login', { email: own, password: own }],
      ['/api/auth/register', { email, password: own, name: 'Again' }],
      ['/api/auth/register', { email, password: own, name: 'Again', surprise: own }],
      ['/api/setup', { token: setup, email: `${unique('boss')}@example.com`, password: own, name: 'Boss' }],
      ['/api/setup', { token: setup, email, password: own, name: 'Boss' }],
    ] as const) {
      const { status, body: answer, headers } = await call<{ refreshToken?: string }>(t, 'POST', path, body)
      collect([answer, headers.getSetCookie()])
      if (status >= 300) shown.push(JSON.stringify(answer))
      if (answer.refreshToken)
        collect((await call(t, 'POST', '/api/auth/refresh', { refreshToken: answer.refreshToken })).body)
      if (answer.refreshToken) await call(t, 'POST', '/api/auth/refresh', { refreshToken: answer.refreshToken })
    }
    const ada = await person(t)
    collect([ada.token, ada.refreshToken])
    for (let i = 0; i < 2; i++)
      collect((await ada.fetch('POST', '/api/settings/api-keys', { name: 'key' }, { 'idempotency-key': 'key' })).body)
    for (const kind of ['live', 'test'] as const)
      collect(
        (await ada.fetch('POST', '/api/mcp-tokens', { name: 'agent', organizationId: ada.organizationId, kind })).body,
      )
    const agent = await mcpToken(t, ada)
    collect(agent)
    const kinds = [...seen].filter((secret) => !secret.includes(' ')).map((s) => [secretKind(s) ?? 'jwt', s] as const)
    const boss = await person(t, { admin: true })
    shown.push(...(await plant(t, [...new Map(kinds).values(), newSecret('invite')], { person: boss, agent })))
    shown.push(...(await metricsOf(t, boss)))
    for (const secret of seen) {
      await call(t, 'GET', `/api/notes?token=${encodeURIComponent(secret)}`)
      await call(t, 'GET', `/nothing/${encodeURIComponent(secret)}`, undefined, {
        authorization: `Bearer ${secret.replaceAll(' ', '')}`,
      })
    }
    // Causes an entry in the log.
    await t.app.driver.query(`update users set role = 'king' where id = $1`, [ada.userId])
    expect((await ada.fetch('GET', '/api/auth/me')).status).toBe(500)
    // Other files list the users of this database.
    await t.app.driver.query(`update users set role = 'user' where id = $1`, [ada.userId])
  })

  test('exist, and so do the places to search', async () => {
    const { app } = await sharedApp()
    const kinds = new Set(
      [...seen].map((secret) => (secret.startsWith('eyJ') ? 'jwt' : (secretKind(secret) ?? 'password'))),
    )
    expect(kinds).toEqual(new Set(['jwt', 'password', 'refresh', 'api_key', 'mcp_live', 'mcp_test', 'setup']))
    expect(logged.length).toBeGreaterThan(0)
    expect(await dump(app.driver)).toContain('api_keys {')
  })

  test('are in no error, redirect or metric', () => {
    expect(shown.length).toBeGreaterThan(1000)
    expect(shown.filter((text) => text.includes('http_requests_total'))).toHaveLength(1)
    const found = shown.filter(
      (text) => [...seen, decoy].some((secret) => text.includes(secret)) || leaks(text).length > 0,
    )
    expect(found.map((text) => text.slice(0, 100))).toEqual([])
  })

  test('are not in the log', () => {
    const log = logged.join('')
    expect([...seen, decoy].filter((secret) => log.includes(secret))).toEqual([])
    expect(leaks(log)).toEqual([])
    expect(log).not.toContain('$argon2')
  })

  test('are not in the database', async () => {
    const { app } = await sharedApp()
    const all = await dump(app.driver)
    expect([...seen].filter((secret) => all.includes(secret))).toEqual([])
    expect(leaks(all)).toEqual([])
    expect(all).not.toContain(app.secret)
    const passwords = (
      await app.driver.query('select password_hash from users where password_hash is not null')
    ).rows.map((row) => String(row[0]))
    expect(passwords.length).toBeGreaterThan(0)
    for (const hash of passwords) expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })

  /** Secrets of any test: they are recognised by their form and checksum. */
  function leaks(text: string): string[] {
    const keys = [...text.matchAll(/svc_(?:[a-z]+_)?[0-9A-Za-z]{38}/g)]
      .map((found) => found[0])
      .filter((secret) => secretKind(secret))
    const tokens = [...text.matchAll(/eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{40,}/g)].map((found) => found[0])
    return [...keys, ...tokens, ...(text.includes(PASSWORD) ? [PASSWORD] : [])]
  }
})
