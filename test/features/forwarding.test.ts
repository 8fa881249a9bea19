import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import { signatureOf } from '../../src/features/integrations/messages.ts'
import type { Integration, IntegrationSaved } from '../../src/features/integrations/schema.ts'
import { type Notice, notify } from '../../src/features/notifications/service.ts'
import { type Person, person, systemCtx, type TestApp } from '../support/app.ts'
import { asIfPublic, certificateFor, PUBLIC } from '../support/tls.ts'
import { ownApp } from './support.ts'

/** Notifications on their way to a real TLS server, on a database of their own: another instance's jobs must not take them. */
const at = (provider: string) => `/api/settings/integrations/user/${provider}`
const TOKEN = 'ghp_averysecrettokenofadas1234'

const tellAll = write('test.tell', machine, (ctx, notices: Notice[]) => notify(ctx, ...notices))
const tell = (t: TestApp, ...notices: Notice[]) => tellAll(systemCtx(t), notices)

interface Heard {
  path: string
  headers: Headers
  body: string
}
const tls = certificateFor('hooks.example.com', 'other.example.com')
const heard: Heard[] = []
const waiting: (() => void)[] = []
/** What the targets respond, by path; default: 200. */
const answers = new Map<string, () => Response>()
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  tls,
  async fetch(request) {
    const path = new URL(request.url).pathname
    const body = await request.text()
    heard.push({ path, headers: request.headers, body })
    for (const wake of waiting.splice(0)) wake()
    return answers.get(path)?.() ?? new Response('ok')
  },
})
let resolved = [PUBLIC]
let t: TestApp
let ada: Person
beforeAll(async () => {
  const operator = {
    CODEHOST_CLIENT_ID: 'operator-id',
    CODEHOST_CLIENT_SECRET: 'operator-hush',
    METRICS_TOKEN: 'operator-metrics-hush-0',
  }
  t = await ownApp(
    undefined,
    { background: 'on', ...operator },
    { ...asIfPublic(tls.cert), resolve: async () => resolved },
  )
  // A job's outcome is written down after the place has answered.
  t.app.bus.subscribe((event) => {
    if (event.type === 'integrations.settle') for (const wake of waiting.splice(0)) wake()
  })
})
afterAll(async () => {
  await t.close()
  await server.stop(true)
})
beforeEach(async () => {
  ada = await person(t)
  resolved = [PUBLIC]
})

/** Looks again whenever something arrived or was settled. */
async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const next = new Promise<void>((resolve) => {
      waiting.push(resolve)
      setTimeout(resolve, 100)
    })
    const found = await look()
    if (found) return found
    await next
  }
}
const address = (path: string, host = 'hooks.example.com') => `https://${host}:${server.port}${path}`
const connect = async (provider: string, path: string, settings = {}) =>
  (await ada.fetch<IntegrationSaved>('PUT', at(provider), { secret: address(path), settings })).body
const shown = async (provider: string) =>
  (await ada.fetch<{ items: Integration[] }>('GET', '/api/settings/integrations/user')).body.items.find(
    (i) => i.provider === provider,
  ) as Integration
const jobs = async (id: string): Promise<{ state: string; attempt: number; error: string; due: boolean }[]> =>
  (await t.app.driver.query(`select state, attempt, error, run_at <= now() from jobs where data->>'integrationId' = $1`, [id])).rows.map((r) => ({
    state: r[0] as string, attempt: r[1] as number, error: r[2] as string, due: r[3] as boolean,
  })) // biome-ignore format: a row
const arrived = (path: string) => heard.filter((h) => h.path === path)
const delivered = (provider: string) => until(async () => (await shown(provider)).lastDeliveredAt)
let paths = 0
const place = () => `/place-${++paths}`

test('a webhook receives the whole notification, with a signature', async () => {
  const path = place()
  const { signingKey } = await connect('webhook', path)
  await tell(t, {
    userId: ada.userId,
    type: 'warning',
    reason: 'security',
    title: 'Größe',
    message: 'Zeile\n2',
    link: '/account?a=1',
  })
  await delivered('webhook')
  const [got] = arrived(path)
  expect(JSON.parse(got?.body ?? '')).toEqual({
    event: 'notification.created',
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    createdAt: expect.stringMatching(/Z$/),
    type: 'warning',
    reason: 'security',
    title: 'Größe',
    message: 'Zeile\n2',
    link: `${t.app.url}/account?a=1`,
  })
  expect(got?.headers.get('x-tutti-signature')).toBe(`sha256=${signatureOf(got?.body ?? '', signingKey as string)}`)
  expect(signatureOf('{"a":1}', 'key')).toBe('88a67f24bbcdaed0e6c997404bb79a743baf44c6bab2f4c27328e3009d22e342')
  expect(got?.headers.get('content-type')).toBe('application/json')
  await until(async () => (await jobs((await shown('webhook')).id)).length === 0)
  expect(arrived(path)).toHaveLength(1)
})

test('a webhook with a new address keeps its signing key', async () => {
  const path = place()
  const { signingKey } = await connect('webhook', place())
  await connect('webhook', path)
  expect((await ada.fetch('POST', `${at('webhook')}/test`)).body).toEqual({ delivered: true, error: null })
  const [got] = arrived(path)
  expect(JSON.parse(got?.body ?? '')).toMatchObject({ event: 'test', title: 'A test message from Tutti' })
  expect(got?.headers.get('x-tutti-signature')).toBe(`sha256=${signatureOf(got?.body ?? '', signingKey as string)}`)
})

test('slack and discord receive a text that cannot mention everyone', async () => {
  const [slack, discord] = [place(), place()]
  await connect('slack', slack)
  await connect('discord', discord)
  await tell(t, {
    userId: ada.userId,
    reason: 'mention',
    title: '<!channel> & @everyone',
    message: 'x'.repeat(1990),
    link: 'https://example.com/1',
  })
  await delivered('slack')
  await delivered('discord')
  expect(JSON.parse(arrived(slack)[0]?.body ?? '')).toEqual({
    text: `*&lt;!channel&gt; &amp; @everyone*\n${'x'.repeat(1990)}\nhttps://example.com/1`,
  })
  const got = JSON.parse(arrived(discord)[0]?.body ?? '')
  expect(got.allowed_mentions).toEqual({ parse: [] })
  expect(got.content).toStartWith('**<!channel> & @everyone**\nxxx')
  expect(got.content).toHaveLength(2000)
  expect(arrived(slack)[0]?.headers.get('x-tutti-signature')).toBeNull()
})

test('a target receives only the kinds of notification that it is set to, while it is enabled', async () => {
  const [some, errors, none] = [place(), place(), place()]
  await connect('webhook', some, { events: ['mention', 'review'] })
  await connect('slack', errors, { events: ['error'] })
  await connect('discord', none, { enabled: false })
  const notice = (reason: string, title: string, type: Notice['type'] = 'info') => ({
    userId: ada.userId,
    reason,
    title,
    type,
  })
  await tell(t, notice('admin', 'not this'), notice('mention', 'this'), notice('review', 'and this', 'error'))
  const titles = (path: string) => arrived(path).map((h) => /(?:"title":"|\*)([^"*]+)/.exec(h.body)?.[1])
  await until(async () => titles(some).length === 2 && titles(errors).length === 1)
  await until(async () => (await t.app.jobs.status()).waiting + (await t.app.jobs.status()).active === 0)
  expect([titles(some).sort(), titles(errors), titles(none)]).toEqual([['and this', 'this'], ['and this'], []])
})

test('messages of administrators are forwarded too', async () => {
  const path = place()
  await connect('webhook', path)
  const admin = await person(t, { admin: true })
  for (const audience of [{ userIds: [ada.userId] }, { organizationId: ada.organizationId }])
    expect(
      (await admin.fetch('POST', '/api/admin/notifications/send', { title: 'Maintenance', audience })).status,
    ).toBe(201)
  await until(async () => arrived(path).length === 2)
})

test('a target that fails is tried again later, and shows the error until it works', async () => {
  const path = place()
  const { id } = await connect('webhook', path)
  answers.set(path, () => new Response('no', { status: 503 }))
  await tell(t, { userId: ada.userId, reason: 'mention', title: 'Hello' })
  const [job] = await until(async () => {
    const [waits] = await jobs(id)
    return waits?.state === 'waiting' && waits.attempt === 1 && [waits]
  })
  expect(job).toEqual({ state: 'waiting', attempt: 1, error: 'webhook returned status 503.', due: false })
  expect(await shown('webhook')).toMatchObject({
    lastError: 'webhook returned status 503.',
    lastDeliveredAt: null,
    version: 1,
  })
  answers.delete(path)
  await hurry(id)
  await delivered('webhook')
  expect(await shown('webhook')).toMatchObject({ lastError: null })
  await until(async () => (await jobs(id)).length === 0)
  expect(arrived(path)).toHaveLength(2)
  expect(arrived(path)[0]?.body).toBe(arrived(path)[1]?.body as string)
})

const hurry = async (id: string, attempt?: number) => {
  await t.app.driver.query(
    `update jobs set run_at = now(), attempt = coalesce($2::int, attempt) where data->>'integrationId' = $1`,
    [id, attempt ?? null],
  )
  t.app.jobs.wake([])
}

test('a target that keeps failing is given up after several attempts', async () => {
  const path = place()
  const { id } = await connect('webhook', path)
  answers.set(path, () => new Response('no', { status: 500 }))
  await tell(t, { userId: ada.userId, reason: 'mention', title: 'Hello' })
  await until(async () => (await jobs(id)).some(({ state, attempt }) => state === 'waiting' && attempt === 1))
  await hurry(id, 8)
  await until(async () => (await jobs(id))[0]?.state === 'failed')
  expect(await jobs(id)).toMatchObject([{ attempt: 9 }])
  expect(arrived(path)).toHaveLength(2)
})

test('a target that is gone or resolves to a private address is not tried again', async () => {
  for (const [answer, addresses, error] of [
    [() => new Response('', { status: 404 }), [PUBLIC], 'webhook returned status 404.'],
    [() => new Response('', { status: 410 }), [PUBLIC], 'webhook returned status 410.'],
    [() => new Response('', { status: 302, headers: { location: `https://127.0.0.1:${server.port}/inside` } }), [PUBLIC], '127.0.0.1 is not on the public Internet. Users may give such an address only if OUTBOUND_ALLOW lists it.'],
    [() => new Response(''), ['10.0.0.1'], 'hooks.example.com is not on the public Internet. Users may give such an address only if OUTBOUND_ALLOW lists it.'],
  ] as const) {
    const path = place()
    const { id } = await connect('webhook', path)
    answers.set(path, answer)
    resolved = [...addresses]
    await tell(t, { userId: ada.userId, reason: 'mention', title: 'Hello' })
    await until(async () => (await jobs(id)).length === 0 && (await shown('webhook')).lastError)
    expect((await shown('webhook')).lastError).toBe(error)
    expect(arrived(path)).toHaveLength(addresses[0] === PUBLIC ? 1 : 0)
    await ada.fetch('DELETE', at('webhook'))
  } // biome-ignore format: a table
  expect(arrived('/inside')).toEqual([])
})

test('a target that was disabled, removed or whose user was suspended receives nothing more', async () => {
  for (const stop of [
    () => ada.fetch('PUT', at('webhook'), { settings: { enabled: false } }),
    () => ada.fetch('DELETE', at('webhook')),
    () => t.app.driver.query(`update users set status = 'suspended' where id = $1`, [ada.userId]),
  ]) {
    const path = place()
    const { id } = await connect('webhook', path, { enabled: true })
    answers.set(path, () => new Response('', { status: 500 }))
    await tell(t, { userId: ada.userId, reason: 'mention', title: 'Hello' })
    await until(async () => (await jobs(id)).some(({ state, attempt }) => state === 'waiting' && attempt === 1))
    await stop()
    await hurry(id)
    await until(async () => (await jobs(id)).length === 0)
    expect(arrived(path)).toHaveLength(1)
    await ada.fetch('DELETE', at('webhook'))
  }
})

test('a test message reports its result, and is limited to ten a minute', async () => {
  const path = place()
  await connect('webhook', path)
  const send = () => ada.fetch('POST', `${at('webhook')}/test`)
  expect([(await send()).body, (await shown('webhook')).lastDeliveredAt]).toEqual([
    { delivered: true, error: null },
    expect.any(String),
  ])
  answers.set(path, () => new Response('', { status: 500 }))
  expect((await send()).body).toEqual({ delivered: false, error: 'webhook returned status 500.' })
  resolved = []
  expect((await send()).body).toEqual({ delivered: false, error: 'hooks.example.com has no address.' })
  expect((await shown('webhook')).lastError).toBe('hooks.example.com has no address.')
  for (let i = 3; i < 10; i++) expect((await send()).status).toBe(200)
  expect((await send()).status).toBe(429)
})

test('requests to targets carry no token of the operator, and redirects do not carry the signature', async () => {
  const [path, elsewhere] = [place(), place()]
  await ada.fetch('PUT', at('github'), { secret: TOKEN })
  await connect('webhook', path)
  answers.set(
    path,
    () => new Response('', { status: 307, headers: { location: address(elsewhere, 'other.example.com') } }),
  )
  await tell(t, { userId: ada.userId, reason: 'mention', title: 'Hello' })
  await delivered('webhook')
  const sent = [...arrived(path), ...arrived(elsewhere)]
  expect(sent).toHaveLength(2)
  for (const { headers, body } of sent) {
    const all = JSON.stringify([...headers]) + body
    for (const secret of [TOKEN, ada.token, 'operator', t.app.secret]) expect(all).not.toContain(secret)
    for (const name of ['authorization', 'cookie', 'referer']) expect(headers.get(name)).toBeNull()
  }
  expect(sent.map((s) => s.headers.has('x-tutti-signature'))).toEqual([true, false])
})
