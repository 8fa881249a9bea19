import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import { createSeal } from '../../src/auth/seal.ts'
import { events } from '../../src/events/table.ts'
import type { MailMessage } from '../../src/features/mail/message.ts'
import type { OutboxPage } from '../../src/features/mail/schema.ts'
import { outbox, queueMail, send as sendMail, wipeMail, wipeStale } from '../../src/features/mail/service.ts'
import { mailBatch } from '../../src/features/notifications/announcement-mail.ts'
import { createMailer } from '../../src/outside/mailer.ts'
import { dump } from '../contract/tables.ts'
import {
  type Answer,
  apiKey,
  call,
  type Person,
  person,
  sharedApp,
  systemCtx,
  type TestApp,
  testApp,
} from '../support/app.ts'
import { codeIn, keptMail, linkSecretIn, type MailServer, mailRows, mailServer } from '../support/mail.ts'
import { until } from '../support/until.ts'
import {
  codeFor,
  linkFor,
  newAddress,
  prove,
  sendCode,
  sendLink,
  suspend,
  verifyCode,
  verifyLink,
} from './codes-support.ts'
import { expectRefusal, failure, ownApp, TestClock, watch } from './support.ts'

const minutes = (t: TestApp, n: number): string => new Date(t.app.clock().getTime() + n * 60_000).toISOString()
const put = write('test.put', machine, async (ctx, message: MailMessage): Promise<void> => queueMail(ctx, message))
const wipe = write(
  'test.wipe',
  machine,
  async (ctx, { to, kind }: { to: string; kind: string }): Promise<void> => wipeMail(ctx, to, kind),
)
const mailFor = (t: TestApp, to: string, over: Partial<MailMessage> = {}): MailMessage => ({
  to,
  kind: 'code',
  subject: 'Hello',
  lines: ['One', 'Two'],
  code: '042042',
  button: { label: 'Press', url: 'https://tutti.example.com/magic#secret' },
  notes: ['Three'],
  expiresAt: minutes(t, 10),
  ...over,
})

describe('with a mail server', () => {
  const clock = new TestClock()
  let server: MailServer
  let t: TestApp
  beforeAll(async () => {
    server = await mailServer()
    // Uses its own database: other apps that run jobs on the shared one have no mail server.
    t = await ownApp(clock.now, { ...server.settings, background: 'on', RATE_LIMIT_MAIL: '1000000' })
  })
  afterAll(() => t.close())

  const settled = (type: 'sent' | 'delayed' | 'failed') =>
    new Promise<void>((resolve) => {
      const stop = t.app.bus.subscribe((event) => {
        if (event.type !== `mail.${type}`) return
        stop()
        resolve()
      })
    })
  const jobs = async () =>
    (await t.app.driver.query(`select state, attempt, data->>'id' from jobs where name = 'mail.send'`)).rows
  /** What waits for a while is due now. */
  async function hurry(): Promise<void> {
    await until(async () => (await jobs()).every(([state]) => state === 'waiting'))
    await t.app.driver.query(`update jobs set run_at = now() where name = 'mail.send'`)
    t.app.jobs.wake([])
  }

  test('sends a mail as text and HTML, and then wipes its content', async () => {
    const to = newAddress()
    const sent = settled('sent')
    await put(systemCtx(t), mailFor(t, to))
    const mail = await server.mailTo(to)
    expect(mail.recipients).toEqual([to])
    expect(mail.from).toEqual({ address: 'tutti@example.com', name: 'Tutti' })
    expect(mail.subject).toBe('Hello')
    expect(mail.text?.trim()).toBe(
      `One\n\nTwo\n\n    042042\n\nPress:\nhttps://tutti.example.com/magic#secret\n\nThree\n\n-- \nSent by Tutti at ${t.app.url}`,
    )
    expect(mail.html).toContain('<a href="https://tutti.example.com/magic#secret"')
    for (const part of ['One', '042042', 'Three']) expect(mail.html).toContain(`>${part}</p>`)
    expect(mail.headers.find((h) => h.key === 'auto-submitted')?.value).toBe('auto-generated')
    await sent
    const [row] = await mailRows(t, to)
    expect(row).toMatchObject({
      status: 'sent',
      attempts: 1,
      error: null,
      sealed: null,
      sentAt: t.app.clock().toISOString(),
    })
    expect(mail.messageId).toBe(`<${row?.id}@example.com>`)
  })

  test('sends codes and links that sign in', async () => {
    const [ada, email] = [await person(t), newAddress()]
    expect((await server.mailTo(ada.email)).text).toContain('/verify-email#svc_one_')
    await prove(t, ada)
    await sendCode(t, ada.email)
    expect((await verifyCode(t, ada.email, codeIn(await server.mailTo(ada.email)))).status).toBe(200)
    const { headers } = await sendLink(t, email)
    const token = linkSecretIn(await server.mailTo(email))
    const cookie = headers.getSetCookie()[0]?.split(';')[0] as string
    expect((await verifyLink(t, token, { cookie })).body.user).toMatchObject({ email })
  })

  test('retries the same mail if the server is busy', async () => {
    const to = newAddress()
    const refused = server.refuse(2)
    let delayed = settled('delayed')
    await put(systemCtx(t), mailFor(t, to))
    await delayed
    const [row] = await mailRows(t, to)
    expect(row).toMatchObject({ status: 'queued', attempts: 1, error: expect.stringContaining('451'), sentAt: null })
    expect(row?.sealed).toBeString()
    delayed = settled('delayed')
    await hurry()
    await Promise.all([delayed, refused])
    const sent = settled('sent')
    await hurry()
    expect((await server.mailTo(to)).messageId).toBe(`<${row?.id}@example.com>`)
    await sent
    expect(await mailRows(t, to)).toMatchObject([{ status: 'sent', attempts: 3, error: null, sealed: null }])
    expect(server.received.filter((m) => m.recipients.includes(to))).toHaveLength(1)
  })

  test('does not retry a mail that the server refuses permanently', async () => {
    const to = newAddress()
    const refused = server.refuse(1, 550)
    const failed = settled('failed')
    await put(systemCtx(t), mailFor(t, to))
    await Promise.all([refused, failed])
    expect(await mailRows(t, to)).toMatchObject([
      { status: 'failed', attempts: 1, error: expect.stringContaining('550') },
    ])
    await until(async () => (await jobs()).length === 0)
  })

  test('never sends a mail that expired, was replaced or is no longer needed', async () => {
    const [stale, replaced, unneeded] = [newAddress(), newAddress(), newAddress()]
    for (const to of [stale, replaced, unneeded]) {
      const refused = server.refuse(1)
      const delayed = settled('delayed')
      await put(systemCtx(t), mailFor(t, to, { expiresAt: minutes(t, to === stale ? 10 : 20) }))
      await Promise.all([refused, delayed])
    }
    clock.forward({ minutes: 10 })
    await wipe(systemCtx(t), { to: unneeded, kind: 'code' })
    await put(systemCtx(t), mailFor(t, replaced, { code: '111111' }))
    expect(codeIn(await server.mailTo(replaced))).toBe('111111')
    await hurry()
    await until(async () => (await jobs()).length === 0)
    expect(server.received.filter((m) => [stale, replaced, unneeded].includes(m.recipients[0] as string))).toHaveLength(
      1,
    )
    await wipeStale(systemCtx(t), {})
    for (const to of [stale, replaced, unneeded])
      expect((await mailRows(t, to)).at(-1)).toMatchObject({
        status: 'failed',
        sealed: null,
        attempts: 1,
        sentAt: null,
      })
  })

  test('keeps names and addresses that users chose from adding headers, receivers or lines', async () => {
    const to = newAddress()
    const evil = 'Eve\r\nBcc: eve@example.org\r\n\r\nPay here\u2028now\u0000\u202Eyap<script>alert(1)</script>'
    await put(
      systemCtx(t),
      mailFor(t, to, {
        subject: `${evil} invites you`,
        lines: [`${evil} has invited you.`],
        notes: [evil],
        button: undefined,
      }),
    )
    const mail = await server.mailTo(to)
    expect(mail.recipients).toEqual([to])
    expect(mail.headers.map((h) => h.key)).toEqual(
      expect.arrayContaining([
        'from',
        'to',
        'subject',
        'message-id',
        'date',
        'auto-submitted',
        'mime-version',
        'content-type',
      ]),
    )
    expect(mail.headers.filter((h) => ['bcc', 'cc'].includes(h.key))).toEqual([])
    const line = 'Eve Bcc: eve@example.org Pay here now yap<script>alert(1)</script>'
    expect(mail.subject).toBe(`${line} invites you`)
    expect(mail.text?.split('\n\n').slice(0, 3)).toEqual([`${line} has invited you.`, '    042042', line])
    expect(mail.html).not.toContain('<script>')
    expect(mail.html).toContain('&#60;script&#62;')
  })

  test('does not send its password to a server without encryption', async () => {
    const url = server.url.replace('smtp://', 'smtp://tutti:the-password@')
    const mailer = createMailer({ ...t.app.config, SMTP_URL: url })
    const error = (await failure(
      mailer.send({ id: 'x', to: newAddress(), subject: 'Hello', text: 'x', html: 'x' }),
    )) as Error
    expect(error.message).toContain('STARTTLS')
    mailer.close()
  })

  test('does not send mails that are withheld', async () => {
    const ada = await person(t)
    await suspend(t, ada)
    expect((await sendCode(t, ada.email)).body).toEqual({ sent: true })
    await until(async () => (await jobs()).length === 0)
    expect(await mailRows(t, ada.email, 'code')).toMatchObject([{ status: 'failed', attempts: 0, sealed: null }])
    expect(server.received.filter((m) => m.recipients.includes(ada.email)).map((m) => m.subject)).toEqual([
      'Confirm your e-mail address',
    ])
  })
})

describe('an announcement', () => {
  let server: MailServer
  let t: TestApp
  beforeAll(async () => {
    server = await mailServer()
    t = await ownApp(undefined, { ...server.settings, background: 'off' })
  })
  afterAll(() => t.close())

  const announce = (boss: Person, body: object) =>
    boss.fetch<{ id: string }>('POST', '/api/admin/notifications/send', body)
  /** Runs the waiting jobs of this name as often as given, as a job that ran to its end but was not marked as done. */
  async function runJobs(name: string, often = 1): Promise<void> {
    const { rows } = await t.app.driver.query('delete from jobs where name = $1 returning data::text', [name])
    for (const [data] of rows)
      await Promise.all(
        Array.from({ length: often }, () =>
          name === 'mail.send'
            ? sendMail(systemCtx(t), JSON.parse(String(data)))
            : mailBatch(systemCtx(t), JSON.parse(String(data))),
        ),
      )
  }

  test('is mailed only to active people with a confirmed address who want mail', async () => {
    const [boss, ada, quiet, unconfirmed, gone] = (await Promise.all([
      person(t, { admin: true }),
      ...Array.from({ length: 4 }, () => person(t)),
    ])) as [Person, Person, Person, Person, Person]
    for (const { userId } of [ada, quiet, gone])
      await t.app.driver.query('update users set email_verified_at = now() where id = $1', [userId])
    const off = { notifications: { email: false } }
    expect((await quiet.fetch('PATCH', '/api/settings/preferences', off)).status).toBe(200)
    await suspend(t, gone)
    await t.app.driver.query('delete from jobs')
    const userIds = [ada, quiet, unconfirmed, gone].map(({ userId }) => userId)
    const message = 'We move on Friday.\n\nSave your <b>work</b>.'
    await announce(boss, { title: 'Maintenance', message, link: '/manual', audience: { userIds } })
    // A second one does not replace the first.
    await announce(boss, { title: 'It is over', audience: { userIds } })
    await runJobs('notifications.mail')
    await runJobs('mail.send')
    const mail = await server.mailTo(ada.email)
    expect([mail.subject, (await server.mailTo(ada.email)).subject]).toEqual(['Maintenance', 'It is over'])
    const parts = ['We move on Friday.', 'Save your <b>work</b>.', `${t.app.url}/manual`, '/settings/notifications']
    for (const part of parts) expect(mail.text).toContain(part)
    expect(mail.html).not.toContain('<b>work')
    expect(server.received.flatMap(({ recipients }) => recipients)).toEqual([ada.email, ada.email])
  })

  test('is queued in batches, and once for each person even if a job runs again', async () => {
    const boss = await person(t, { admin: true })
    const { rows } = await t.app.driver.query(
      `insert into users (id, created_at, updated_at, email, name, handle, preferences, status, email_verified_at)
       select gen_random_uuid(), now(), now(), 'batch' || i || '@example.com', 'U', 'batch' || i, '{}'::jsonb,
         'active', now() from generate_series(1, 120) i returning id`,
    )
    const userIds = rows.map(([id]) => String(id))
    await t.app.driver.query('delete from jobs')
    await announce(boss, { title: 'To many', audience: { userIds } })
    const queued = async () => {
      const found = await t.app.driver.query(`select count(*)::int, count(distinct recipient)::int,
        (select count(*)::int from jobs where name = 'mail.send') from mails where subject = 'To many'`)
      return found.rows[0]
    }
    await runJobs('notifications.mail')
    expect(await queued()).toEqual([100, 100, 100])
    await runJobs('notifications.mail', 3)
    expect(await queued()).toEqual([120, 120, 120])
    const waiting = await t.app.driver.query(`select 1 from jobs where name = 'notifications.mail'`)
    expect(waiting.rows).toEqual([])
  })
})

describe('without a mail server', () => {
  const clock = new TestClock()
  let t: TestApp
  beforeAll(async () => {
    t = watch(await testApp({ background: 'off' }, clock.now))
  })
  afterAll(() => t.close())

  test('keeps a mail until it is used, replaced or expired', async () => {
    const to = newAddress()
    await put(systemCtx(t), mailFor(t, to))
    expect(await keptMail(t, to)).toMatchObject({
      status: 'kept',
      subject: 'Hello',
      text: expect.stringContaining('042042'),
    })
    await put(systemCtx(t), mailFor(t, to))
    await put(systemCtx(t), mailFor(t, to, { kind: 'reset' }))
    const rows = () => mailRows(t, to).then((all) => all.map((m) => [m.kind, m.status, m.sealed !== null]))
    expect(await rows()).toEqual([
      ['reset', 'kept', true],
      ['code', 'kept', true],
      ['code', 'kept', false],
    ])
    await wipe(systemCtx(t), { to, kind: 'reset' })
    clock.forward({ minutes: 9, seconds: 59 })
    await wipeStale(systemCtx(t), {})
    expect(await rows()).toEqual([
      ['reset', 'kept', false],
      ['code', 'kept', true],
      ['code', 'kept', false],
    ])
    clock.forward({ seconds: 1 })
    await wipeStale(systemCtx(t), {})
    expect((await rows()).map(([, , readable]) => readable)).toEqual([false, false, false])
  })

  test('keeps two notices beside each other', async () => {
    const to = newAddress()
    const notice = mailFor(t, to, { kind: 'notice', code: undefined, button: undefined })
    await put(systemCtx(t), notice)
    await put(systemCtx(t), notice)
    expect((await mailRows(t, to)).map((m) => m.sealed !== null)).toEqual([true, true])
  })

  test('stores neither code nor link nor text in clear text', async () => {
    const [ada, email] = [await person(t), newAddress()]
    const code = await codeFor(t, ada.email)
    const { token, browser } = await linkFor(t, email)
    const stored = await dump(t.app.driver)
    expect(stored).toContain(ada.email)
    for (const secret of [token, browser.cookie?.split('=')[1] as string, 'Enter this code', '/magic#'])
      expect(stored).not.toContain(secret)
    const about = stored.split('\n').filter((line) => line.includes(ada.email) || line.includes(ada.userId))
    expect(about.length).toBeGreaterThan(2)
    for (const line of about) expect(line).not.toMatch(new RegExp(`\\b${code}\\b`))
    // It can be read only with a key that is not in it.
    const [row] = await mailRows(t, ada.email)
    expect(t.app.seal.open(row?.sealed as string)).toContain(code)
    expect(createSeal('the secret of another instance, long enough').open(row?.sealed as string)).toBeUndefined()
  })
})

describe('the outbox', () => {
  const clock = new TestClock()
  let t: TestApp
  let boss: Person
  beforeAll(async () => {
    t = watch(await testApp({ background: 'off' }, clock.now))
    boss = await person(t, { admin: true })
  })
  afterAll(() => t.close())

  const read = (at: TestApp, query = '', token = boss.token): Promise<Answer<OutboxPage>> =>
    call<OutboxPage>(at, 'GET', `/api/admin/outbox${query}`, undefined, { authorization: `Bearer ${token}` })
  /** Others write mails too, at whatever time their clocks show: it may be on any page. */
  async function find(at: TestApp, to: string, query = '') {
    for (let cursor = ''; ; ) {
      const { items, nextCursor } = (await read(at, `?limit=200${query}${cursor}`)).body
      const found = items.find((mail) => mail.to === to)
      if (found || !nextCursor) return found
      cursor = `&cursor=${nextCursor}`
    }
  }
  async function findHere(at: TestApp, to: string) {
    for (let cursor: string | undefined; ; ) {
      const { items, nextCursor } = await outbox(systemCtx(at), { limit: 200, cursor })
      const found = items.find((mail) => mail.to === to)
      if (found || !nextCursor) return found
      cursor = nextCursor
    }
  }

  test('shows administrators the waiting mails and their receivers, and leaves an event', async () => {
    const to = newAddress()
    await put(systemCtx(t), mailFor(t, to))
    const page = await read(t)
    expect(page.status).toBe(200)
    expect(await find(t, to)).toEqual({
      id: expect.any(String),
      createdAt: t.app.clock().toISOString(),
      to,
      kind: 'code',
      subject: 'Hello',
      status: 'kept',
      attempts: 0,
      error: null,
      sentAt: null,
      expiresAt: minutes(t, 10),
      text: expect.stringContaining('042042'),
    })
    const requestId = page.headers.get('x-request-id') as string
    expect(await t.app.db.select().from(events).where(eq(events.requestId, requestId))).toMatchObject([
      { type: 'mail.outbox', actorId: boss.userId },
    ])
    clock.forward({ minutes: 10 })
    expect((await find(t, to))?.text).toBeNull()
  })

  test('is filtered by status and by whether a mail can still be read', async () => {
    const [kept, used] = [newAddress(), newAddress()]
    await put(systemCtx(t), mailFor(t, kept))
    await put(systemCtx(t), mailFor(t, used))
    await wipe(systemCtx(t), { to: used, kind: 'code' })
    expect([(await find(t, kept))?.text === null, (await find(t, used))?.text === null]).toEqual([false, true])
    const readable = '&readable=true'
    expect([(await find(t, kept, readable))?.to, (await find(t, used, readable))?.to]).toEqual([kept, undefined])
    const [some, all] = [await read(t, '?limit=1&readable=true&total=true'), await read(t, '?limit=1&total=true')]
    expect(some.body.total).toBeWithin(1, all.body.total as number)
    expect(await find(t, kept, '&status=sent')).toBeUndefined()
    expect((await find(t, kept, '&status=kept'))?.to).toBe(kept)
  })

  test('requires an administrator with a recent confirmation of identity', async () => {
    const ada = await person(t)
    await expectRefusal(t, await call(t, 'GET', '/api/admin/outbox'), 401, 'unauthenticated')
    await expectRefusal(t, await read(t, '', ada.token), 403, 'forbidden')
    await expectRefusal(t, await read(t, '', await apiKey(t, boss)), 403, 'forbidden')
    const later = new TestClock()
    const own = watch(await testApp({ background: 'off' }, later.now))
    const other = await person(own, { admin: true })
    later.forward({ minutes: 61 })
    const renewed = await call<{ token: string }>(own, 'POST', '/api/auth/refresh', {
      refreshToken: other.refreshToken,
    })
    await expectRefusal(own, await read(own, '', renewed.body.token), 403, 'forbidden.reauth')
    await own.close()
  })

  test('hides mails to another administrator', async () => {
    const other = await person(t, { admin: true })
    for (const { email } of [boss, other]) await put(systemCtx(t), mailFor(t, email))
    expect((await find(t, boss.email))?.text).toContain('042042')
    expect(await find(t, other.email)).toMatchObject({ status: 'kept', text: null })
    // Anyone on the machine could read the key as well.
    expect((await findHere(t, other.email))?.text).toContain('042042')
  })

  test.each([
    ['auto', false, true],
    ['auto', true, false],
    ['on', true, true],
    ['off', false, false],
  ])('ADMIN_SEES_CODES=%s, a mail server: %p, may be read: %p', async (setting, smtp, readable) => {
    const mailing: Record<string, string> = smtp
      ? { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'tutti@example.com' }
      : {}
    const own = await testApp({ background: 'off', ADMIN_SEES_CODES: setting, ...mailing }, clock.now)
    const to = newAddress()
    await put(systemCtx(own), mailFor(own, to))
    const text = (await find(own, to))?.text
    if (readable) expect(text).toContain('042042')
    else expect(text).toBeNull()
    expect((await findHere(own, to))?.text).toContain('042042')
    await own.app.driver.query(`delete from jobs where name = 'mail.send'`)
    await own.close()
  })
})

test('an instance without a mail server does not define the job that sends mails', async () => {
  const t = await sharedApp()
  const inserted = t.app.jobs.insert(t.app.driver, [{ name: 'mail.send', data: { id: 'x' } }])
  expect(await failure(inserted)).toMatchObject({ message: 'job "mail.send" is not defined' })
})
