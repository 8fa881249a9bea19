import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import type { Integration, IntegrationSaved } from '../../src/features/integrations/schema.ts'
import { notify } from '../../src/features/notifications/service.ts'
import { dump } from '../contract/tables.ts'
import { call, logged, type Person, person, sharedApp, systemCtx, type TestApp, testApp } from '../support/app.ts'
import { expectEvent, expectRefusal, statuses, watch } from './support.ts'

type Page = { items: Integration[] }

const at = (provider: string) => `/api/settings/integrations/user/${provider}`
const TOKEN = 'ghp_averysecrettokenofadas1234'
const WEBHOOK = 'https://hooks.example.com/in/hush-hush-9876'

const tell = write('test.tellOne', machine, (ctx, notice: Parameters<typeof notify>[1]) => notify(ctx, notice))

let t: TestApp
let ada: Person
beforeAll(async () => {
  t = watch(await sharedApp())
})
beforeEach(async () => {
  ada = await person(t)
})
const list = async (who: Person) => (await who.fetch<Page>('GET', '/api/settings/integrations/user')).body.items

test('tokens and addresses are stored, and only their last characters are shown', async () => {
  expect(await list(ada)).toEqual([])
  const github = await ada.fetch<IntegrationSaved>('PUT', at('github'), { secret: TOKEN, settings: { login: 'ada' } })
  expect(github.status).toBe(200)
  expect(github.body).toMatchObject({
    provider: 'github',
    version: 1,
    last4: '1234',
    settings: { enabled: true, events: [], login: 'ada' },
  })
  expect(github.body).not.toHaveProperty('signingKey')
  expect(await expectEvent(t, github, 'integration.connected')).toMatchObject({
    subjectId: github.body.id,
    userId: ada.userId,
    data: { provider: 'github' },
  })
  const webhook = await ada.fetch<IntegrationSaved>('PUT', at('webhook'), {
    secret: WEBHOOK,
    settings: { events: ['mention'] },
  })
  expect(webhook.body.signingKey).toMatch(/^whsec_[\w-]{43}$/)
  await ada.fetch('PUT', at('slack'), { secret: 'https://hooks.slack.com/services/T0/B0/slackhush' })
  await ada.fetch('PUT', at('discord'), { secret: 'https://discord.com/api/webhooks/1/discordhush' })
  const items = await list(ada)
  expect(items.map((i) => [i.provider, i.last4, i.lastDeliveredAt, i.lastError])).toEqual([
    ['discord', 'hush', null, null],
    ['github', '1234', null, null],
    ['slack', 'hush', null, null],
    ['webhook', '9876', null, null],
  ])
  // Neither in lists, nor in the database, nor in the log.
  const everywhere = JSON.stringify(items) + (await dump(t.app.driver)) + logged.join()
  for (const secret of [TOKEN, 'hush-hush', 'slackhush', 'discordhush', webhook.body.signingKey as string])
    expect(everywhere).not.toContain(secret)
})

test('a change sets the given fields and keeps the others', async () => {
  const made = (
    await ada.fetch<IntegrationSaved>('PUT', at('webhook'), { secret: WEBHOOK, settings: { events: ['mention'] } })
  ).body
  const changed = await ada.fetch<IntegrationSaved>('PUT', at('webhook'), { settings: { enabled: false } })
  expect(changed.body).toMatchObject({
    id: made.id,
    version: 2,
    last4: '9876',
    settings: { enabled: false, events: ['mention'], login: null },
  })
  expect(changed.body).not.toHaveProperty('signingKey')
  expect((await expectEvent(t, changed, 'integration.updated')).data).toEqual({
    provider: 'webhook',
    fields: ['enabled'],
  })
  const moved = await ada.fetch<IntegrationSaved>('PUT', at('webhook'), {
    secret: 'https://hooks.example.com/in/other-5555',
  })
  expect(moved.body).toMatchObject({ version: 3, last4: '5555', settings: { enabled: false, events: ['mention'] } })
  expect((await expectEvent(t, moved, 'integration.updated')).data).toEqual({ provider: 'webhook', fields: ['secret'] })
  await expectRefusal(
    t,
    await ada.fetch('PUT', at('webhook'), { settings: { enabled: true } }, { 'if-match': '"1"' }),
    412,
    'version_mismatch',
  )
  const github = (await ada.fetch<IntegrationSaved>('PUT', at('github'), { secret: TOKEN, settings: { login: 'ada' } }))
    .body
  expect((await ada.fetch<IntegrationSaved>('PUT', at('github'), { settings: { login: null } })).body).toMatchObject({
    id: github.id,
    settings: { login: null },
  })
})

test('the signing key is shown once, even if the call is repeated', async () => {
  const make = () =>
    ada.fetch<IntegrationSaved>('PUT', at('webhook'), { secret: WEBHOOK }, { 'idempotency-key': 'once' })
  const [first, second] = [await make(), await make()]
  const { signingKey, ...rest } = first.body
  expect(signingKey).toBeString()
  expect(second.body).toEqual(rest)
})

test('a secret that does not fit the provider is refused', async () => {
  const [refusedTokens, refusedAddresses] = [
    ['short', 'with spaces in it', 'línea-de-tokens', 'x'.repeat(501), `${TOKEN}\n`],
    ['http://hooks.example.com/hush', 'ftp://hooks.example.com', 'hooks.example.com', 'https://ada:hush@hooks.example.com/', 'https://127.0.0.1/hush', 'https://2130706433/hush', 'https://[::1]/hush', 'https://[::ffff:10.0.0.1]/hush', 'https://169.254.169.254/latest', 'javascript:alert(1)'],
  ] // biome-ignore format: a table
  for (const [provider, secrets] of [['github', refusedTokens], ['slack', refusedAddresses], ['discord', refusedAddresses], ['webhook', refusedAddresses]] as const)
    for (const secret of secrets) {
      const answer = await ada.fetch<{ errors: { pointer: string }[] }>('PUT', at(provider), { secret })
      expect([provider, secret, answer.status, answer.body.errors.map((e) => e.pointer)]).toEqual([provider, secret, 422, ['/secret']])
      expect(JSON.stringify(answer.body)).not.toContain('hush')
    } // biome-ignore format: a table
  await expectRefusal(t, await ada.fetch('PUT', at('webhook'), { settings: { enabled: true } }), 422, 'invalid')
  expect(await list(ada)).toEqual([])
})

test('settings that the provider does not have are refused', async () => {
  for (const [provider, settings, pointer] of [
    ['github', { events: ['mention'] }, '/settings/events'],
    ['webhook', { login: 'ada' }, '/settings/login'],
    ['slack', { surprise: 1 }, '/settings/surprise'],
    ['slack', { events: ['No Such'] }, '/settings/events/0'],
  ] as const) {
    const secret = provider === 'github' ? TOKEN : WEBHOOK
    const { status, body } = await ada.fetch<{ errors: { pointer: string }[] }>('PUT', at(provider), {
      secret,
      settings,
    })
    expect([provider, status, body.errors[0]?.pointer]).toEqual([provider, 422, pointer])
  }
})

test('an unknown provider is answered with 404 and the list of providers', async () => {
  for (const [method, path, body] of [['PUT', at('bitbucket'), { secret: TOKEN }], ['DELETE', at('__proto__'), undefined], ['POST', `${at('constructor')}/test`, undefined]] as const) {
    const problem = await expectRefusal(t, await ada.fetch(method, path, body), 404, 'not_found')
    expect(problem.detail).toContain('Use one of: github, gitea, gitlab, slack, discord, webhook.')
  } // biome-ignore format: a table
})

test('one of two simultaneous calls connects the provider', async () => {
  const answers = await Promise.all([1, 2, 3].map(() => ada.fetch('PUT', at('webhook'), { secret: WEBHOOK })))
  const [first] = statuses(answers)
  expect(first).toBe(200)
  expect(answers.filter((a) => a.status === 200 && a.body.signingKey)).toHaveLength(1)
  expect(await list(ada)).toHaveLength(1)
})

test('disconnecting deletes the secret', async () => {
  const { id } = (await ada.fetch<IntegrationSaved>('PUT', at('github'), { secret: TOKEN })).body
  await expectRefusal(
    t,
    await ada.fetch('DELETE', at('github'), undefined, { 'if-match': '"2"' }),
    412,
    'version_mismatch',
  )
  const gone = await ada.fetch('DELETE', at('github'))
  expect(gone.body).toEqual({ id, deleted: true })
  expect((await expectEvent(t, gone, 'integration.removed')).data).toEqual({ provider: 'github' })
  expect(
    (await t.app.driver.query('select count(*)::int from integrations where user_id = $1', [ada.userId])).rows,
  ).toEqual([[0]])
  await expectRefusal(t, await ada.fetch('DELETE', at('github')), 404, 'not_found')
  await expectRefusal(t, await ada.fetch('POST', `${at('github')}/test`), 404, 'not_found')
})

test('a test message to github is refused, because github receives no messages', async () => {
  await ada.fetch('PUT', at('github'), { secret: TOKEN })
  await expectRefusal(t, await ada.fetch('POST', `${at('github')}/test`), 409, 'conflict')
})

test('with OUTBOUND=off no address is accepted or called, but a token is stored', async () => {
  await ada.fetch('PUT', at('webhook'), { secret: WEBHOOK })
  const off = watch(await testApp({ OUTBOUND: 'off', background: 'off' }))
  try {
    const same = (method: string, path: string, body?: unknown) =>
      call(off, method, path, body, { authorization: `Bearer ${ada.token}` })
    const refused = await expectRefusal(off, await same('PUT', at('slack'), { secret: WEBHOOK }), 403, 'forbidden')
    expect(refused.detail).toContain('OUTBOUND=off')
    expect((await same('PUT', at('github'), { secret: TOKEN })).status).toBe(200)
    expect((await same('POST', `${at('webhook')}/test`)).body).toEqual({
      delivered: false,
      error: expect.stringContaining('OUTBOUND=off'),
    })
    await tell(systemCtx(off), { userId: ada.userId, reason: 'mention', title: 'Nobody hears' })
    expect(
      (
        await off.app.driver.query(
          `select 1 from jobs where name = 'integrations.forward' and data->>'integrationId' in (select id::text from integrations where user_id = $1)`,
          [ada.userId],
        )
      ).rows,
    ).toEqual([])
  } finally {
    await off.close()
  }
})

describe('OUTBOUND_ALLOW', () => {
  test('lets webhooks reach a listed private host by http, and no other host', async () => {
    const heard: string[] = []
    const receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        heard.push(await request.text())
        return new Response('')
      },
    })
    const inside = `http://127.0.0.1:${receiver.port}/hook`
    const open = watch(await testApp({ OUTBOUND_ALLOW: `127.0.0.1:${receiver.port}`, background: 'off' }))
    try {
      await expectRefusal(t, await ada.fetch('PUT', at('webhook'), { secret: inside }), 422, 'invalid')
      const eve = await person(open)
      expect((await eve.fetch('PUT', at('webhook'), { secret: inside })).status).toBe(200)
      expect((await eve.fetch('POST', `${at('webhook')}/test`)).body).toEqual({ delivered: true, error: null })
      expect(heard).toHaveLength(1)
      for (const closed of [`http://localhost:${receiver.port}/`, 'http://127.0.0.1:1/', 'http://169.254.169.254/'])
        await expectRefusal(open, await eve.fetch('PUT', at('slack'), { secret: closed }), 422, 'invalid')
    } finally {
      await open.close()
      await receiver.stop(true)
    }
  })
})
