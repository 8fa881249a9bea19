import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import { type Notice, notify } from '../../src/features/notifications/service.ts'
import type { PushStatus, PushSubscription } from '../../src/features/push/schema.ts'
import { apiKey, call, type Person, person, systemCtx, type TestApp, testApp } from '../support/app.ts'
import { Browser, checkVapid, PushService } from '../support/push-service.ts'
import { asIfPublic, certificateFor } from '../support/tls.ts'
import { until } from '../support/until.ts'
import { ownApp } from './support.ts'

/** Web Push, with a push service of this file and browsers that decrypt what it receives. */
const DEVICES = '/api/push/subscriptions'
const tls = certificateFor('push.example.com')
const service = new PushService(tls)
const origin = `https://push.example.com:${service.port}`

const notifyAll = write('test.notify', machine, (ctx, notices: Notice[]) => notify(ctx, ...notices))
const send = (...notices: Notice[]) => notifyAll(systemCtx(t), notices)

let t: TestApp
beforeAll(async () => {
  t = await ownApp(undefined, { background: 'on', PUSH: 'on' }, asIfPublic(tls.cert))
})
afterAll(async () => {
  await t.close()
  await service.stop()
})

const list = async (who: Person) => (await who.fetch<{ items: PushSubscription[] }>('GET', DEVICES)).body.items
/** Turns on push notifications in a new browser. */
async function subscribed(who: Person): Promise<{ browser: Browser; id: string }> {
  const browser = new Browser()
  const { status, body } = await who.fetch('POST', DEVICES, browser.subscription(origin))
  expect(status).toBe(201)
  return { browser, id: body.id as string }
}
const notice = (userId: string, more: Partial<Notice> = {}): Notice => ({
  userId,
  reason: 'mention',
  title: 'Hi',
  ...more,
})
const jobsOf = async (id: string) =>
  (await t.app.driver.query(`select attempt, error from jobs where name = 'push.send' and data->>'subscriptionId' = $1`, [id])).rows // biome-ignore format: a query
/** Resolves when the jobs of the subscription are done or wait for another attempt. */
const settled = (id: string) => until(async () => (await jobsOf(id)).every(([attempt]) => Number(attempt) > 0))

test('the test decrypts the example of RFC 8291', () => {
  const browser = new Browser(
    'q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94',
    Buffer.from('BTBZMqHH6r4Tts7J_aSIgg', 'base64url'),
  )
  const body =
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN'
  expect(browser.decrypt(Buffer.from(body, 'base64url'))).toBe('When I grow up, I want to be a watermelon')
})

describe('a notification', () => {
  test('is sent to each browser of its reader, encrypted for it and signed by this server', async () => {
    const [ada, eve] = [await person(t), await person(t)]
    const [phone, laptop, other] = [await subscribed(ada), await subscribed(ada), await subscribed(eve)]
    await send(notice(ada.userId, { title: 'Größe', message: 'x'.repeat(900), link: '/tasks/LAN-4?team=lamps' }))
    for (const { browser, id } of [phone, laptop]) {
      const [message] = await service.messagesTo(browser, 1)
      if (!message) throw new Error('nothing arrived')
      const read = JSON.parse(browser.decrypt(message.body)) as Record<string, string>
      expect(read).toMatchObject({ title: 'Größe', path: '/tasks/LAN-4?team=lamps' })
      expect(read.body).toBe(`${'x'.repeat(159)}…`)
      expect(() => other.browser.decrypt(message.body)).toThrow()
      expect(message.headers.get('content-encoding')).toBe('aes128gcm')
      expect([message.headers.get('ttl'), message.headers.get('urgency')]).toEqual(['86400', 'high'])
      expect(message.headers.get('topic')).toMatch(/^[\w-]{32}$/)
      const { claims, publicKey } = await checkVapid(message.headers.get('authorization') ?? '')
      expect(claims.aud).toBe(origin)
      expect(claims.sub).toMatch(/^(https:|mailto:)/)
      expect(Number(claims.exp) - Date.now() / 1000).toBeLessThan(86_400)
      expect((await ada.fetch<PushStatus>('GET', '/api/push')).body).toEqual({ on: true, publicKey })
      await until(async () => (await list(ada)).find((device) => device.id === id)?.lastOkAt)
    }
    expect(service.received.some(({ path }) => path === other.browser.path)).toBe(false)
  })

  test('has the same topic as an older one about the same record, and opens its page', async () => {
    const ada = await person(t)
    const { browser } = await subscribed(ada)
    const project = (await ada.fetch('POST', '/api/projects', { name: 'Lantern' })).body
    const about = { kind: 'project' as const, id: project.id as string }
    await send(notice(ada.userId, { about }), notice(ada.userId, { about }), notice(ada.userId))
    const messages = await service.messagesTo(browser, 3)
    const topics = new Set(messages.map(({ headers }) => headers.get('topic')))
    expect(topics.size).toBe(2)
    expect(topics).toContain(about.id.replaceAll('-', ''))
    const paths = messages.map(({ body }) => (JSON.parse(browser.decrypt(body)) as { path: string }).path).sort()
    expect(paths).toEqual(['/inbox', ...Array(2).fill(expect.stringMatching(/^\/projects\//))])
  })

  test('is not sent about a record that its reader no longer sees', async () => {
    const [ada, eve] = [await person(t), await person(t)]
    const { browser, id } = await subscribed(eve)
    const project = (await ada.fetch('POST', '/api/projects', { name: 'Secret' })).body
    await send(notice(eve.userId, { title: 'Secret', about: { kind: 'project', id: project.id as string } }))
    await settled(id)
    await send(notice(eve.userId, { title: 'Public' }))
    const messages = await service.messagesTo(browser, 1)
    expect(messages.map(({ body }) => JSON.parse(browser.decrypt(body)).title)).toEqual(['Public'])
  })

  test('is not sent if its reader turned push off for the reason or paused, unless it is about security', async () => {
    const [ada, eve] = [await person(t), await person(t)]
    const [phone, other] = [await subscribed(ada), await subscribed(eve)]
    const choose = (who: Person, notifications: object) =>
      who.fetch('PATCH', '/api/settings/preferences', { notifications })
    await choose(ada, { rules: { mention: { push: false, inbox: true }, review: { inbox: false } } })
    await choose(eve, { pausedUntil: '2099-01-01' })
    const reasons = ['mention', 'review', 'security']
    await send(
      ...[ada, eve].flatMap(({ userId }) => reasons.map((reason) => notice(userId, { reason, title: reason }))),
    )
    const titles = async ({ browser }: { browser: Browser }, count: number) =>
      (await service.messagesTo(browser, count)).map(({ body }) => JSON.parse(browser.decrypt(body)).title).sort()
    expect(await titles(phone, 2)).toEqual(['review', 'security'])
    expect(await titles(other, 1)).toEqual(['security'])
    await until(async () => (await jobsOf(phone.id)).length + (await jobsOf(other.id)).length === 0)
    expect(service.received.filter(({ path }) => path === other.browser.path)).toHaveLength(1)
  })

  test('with a link to another site opens the inbox', async () => {
    const ada = await person(t)
    const { browser } = await subscribed(ada)
    await send(notice(ada.userId, { link: 'https://evil.example/' }))
    const [message] = await service.messagesTo(browser, 1)
    expect(JSON.parse(browser.decrypt(message?.body ?? Buffer.alloc(0))).path).toBe('/inbox')
  })
})

describe('the push service', () => {
  test('ends a subscription by 404 or 410', async () => {
    for (const status of [404, 410]) {
      const ada = await person(t)
      const { browser } = await subscribed(ada)
      service.statuses.set(browser.path, [status])
      await send(notice(ada.userId))
      await until(async () => (await list(ada)).length === 0)
    }
  })

  test('receives a message again after 429 and 503, and once after 400', async () => {
    for (const status of [429, 503]) {
      const ada = await person(t)
      const { browser, id } = await subscribed(ada)
      service.statuses.set(browser.path, [status])
      await send(notice(ada.userId))
      await until(async () => String((await jobsOf(id))[0]?.[1] ?? '').includes(`status ${status}`))
      await t.app.driver.query(`update jobs set run_at = now() where data->>'subscriptionId' = $1`, [id])
      t.app.jobs.wake([])
      await service.messagesTo(browser, 2)
      await until(async () => (await list(ada))[0]?.lastOkAt)
    }
    const ada = await person(t)
    const { browser, id } = await subscribed(ada)
    service.statuses.set(browser.path, [400])
    await send(notice(ada.userId))
    await service.messagesTo(browser, 1)
    await until(async () => (await jobsOf(id)).length === 0)
    expect((await list(ada))[0]?.lastOkAt).toBeNull()
  })
})

describe('a subscription', () => {
  test('is listed for and removed by its user only, and never shows its address', async () => {
    const [ada, eve] = [await person(t), await person(t)]
    const { id, browser } = await subscribed(ada)
    expect(await list(ada)).toMatchObject([{ id, current: true, lastOkAt: null }])
    expect(JSON.stringify(await list(ada))).not.toContain(browser.path)
    expect(await list(eve)).toEqual([])
    expect((await eve.fetch('DELETE', `${DEVICES}/${id}`)).status).toBe(404)
    expect((await ada.fetch('DELETE', `${DEVICES}/${id}`)).body).toEqual({ id, deleted: true })
    expect(await list(ada)).toEqual([])
    const { rows } = await t.app.driver.query('select count(*)::int from push_subscriptions where sealed like $1', [
      '%send%',
    ])
    expect(rows).toEqual([[0]])
  })

  test('is made once for a browser, and moves to whoever signs in there next', async () => {
    const [ada, eve] = [await person(t), await person(t)]
    const browser = new Browser()
    const add = (who: Person) => who.fetch('POST', DEVICES, browser.subscription(origin))
    const first = await add(ada)
    expect((await add(ada)).body.id).toBe(first.body.id)
    await add(eve)
    expect([(await list(ada)).length, (await list(eve)).length]).toEqual([0, 1])
  })

  test('ends when its session is signed out, ended elsewhere or revoked, and with the account', async () => {
    const ends: ((who: Person) => Promise<unknown>)[] = [
      (who) => who.fetch('POST', '/api/auth/logout'),
      async (who) => {
        const { items } = (await who.fetch<{ items: { id: string }[] }>('GET', '/api/settings/sessions')).body
        return who.fetch('DELETE', `/api/settings/sessions/${items[0]?.id}`)
      },
      (who) => who.fetch('DELETE', '/api/auth/account', { confirm: who.email }),
    ]
    for (const end of ends) {
      const ada = await person(t)
      const { id } = await subscribed(ada)
      await end(ada)
      const { rows } = await t.app.driver.query('select count(*)::int from push_subscriptions where id = $1', [id])
      expect(rows).toEqual([[0]])
    }
  })

  test('is sent nothing once its user is suspended', async () => {
    const ada = await person(t)
    const { browser, id } = await subscribed(ada)
    await t.app.driver.query(`update users set status = 'suspended' where id = $1`, [ada.userId])
    await send(notice(ada.userId))
    await until(async () => (await jobsOf(id)).length === 0)
    expect(service.received.some(({ path }) => path === browser.path)).toBe(false)
  })

  test('is refused for private addresses, plain http and keys that are none', async () => {
    const ada = await person(t)
    const { keys, endpoint } = new Browser().subscription(origin)
    const refusals: [object, string][] = [
      [{ endpoint: 'https://127.0.0.1/send', keys }, '/endpoint'],
      [{ endpoint: 'http://push.example.com/send', keys }, '/endpoint'],
      [{ endpoint: 'https://10.0.0.8/send', keys }, '/endpoint'],
      [{ endpoint, keys: { ...keys, p256dh: Buffer.alloc(65, 4).toString('base64url') } }, '/keys'],
      [{ endpoint, keys: { ...keys, auth: 'AAAA' } }, '/keys'],
    ]
    for (const [body, pointer] of refusals) {
      const answer = await ada.fetch<{ errors: { pointer: string }[] }>('POST', DEVICES, body)
      expect([answer.status, answer.body.errors?.[0]?.pointer]).toEqual([422, pointer])
    }
  })

  test('is refused for an API key: only a person at a browser can consent', async () => {
    const ada = await person(t)
    const authorization = `Bearer ${await apiKey(t, ada, ['write'])}`
    const answer = await call(t, 'POST', DEVICES, new Browser().subscription(origin), { authorization })
    expect(answer.status).toBe(403)
  })
})

describe('without PUSH=on', () => {
  test('the routes answer that push is off', async () => {
    const off = await testApp({ PUSH: 'off' })
    try {
      const ada = await person(off)
      expect((await ada.fetch('GET', '/api/push')).body).toEqual({ on: false, publicKey: null })
      for (const [method, path] of [
        ['GET', DEVICES],
        ['POST', DEVICES],
        ['DELETE', `${DEVICES}/${ada.userId}`],
      ] as const) {
        const body = method === 'POST' ? new Browser().subscription(origin) : undefined
        const answer = await ada.fetch(method, path, body)
        expect([answer.status, answer.body.detail]).toEqual([403, expect.stringContaining('PUSH=on')])
      }
    } finally {
      await off.close()
    }
  })
})

test('the key of the server is sealed in the database, and stays after a restart', async () => {
  const ada = await person(t)
  const { publicKey } = (await ada.fetch<PushStatus>('GET', '/api/push')).body
  const { rows } = await t.app.driver.query(`select value from meta where key = 'push.key'`)
  expect(rows).toHaveLength(1)
  expect(String(rows[0]?.[0])).not.toContain('kty')
  expect(JSON.parse(t.app.seal.open(String(rows[0]?.[0])) ?? '{}')).toMatchObject({ kty: 'EC', crv: 'P-256' })
  for (const feature of t.app.features) await feature.prepare?.(t.app)
  expect((await ada.fetch<PushStatus>('GET', '/api/push')).body.publicKey).toBe(publicKey)
})
