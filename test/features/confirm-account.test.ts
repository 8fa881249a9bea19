import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { holdings } from '../../src/features/accounts/hooks.ts'
import { createAdmin } from '../../src/features/accounts/service.ts'
import type { Note } from '../../src/features/notes/schema.ts'
import type { MemberPage } from '../../src/features/organizations/schema.ts'
import type { TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import { call, PASSWORD, type Person, person, sharedApp, systemCtx, type TestApp } from '../support/app.ts'
import { Authenticator } from '../support/authenticator.ts'
import { keptMail, mailRows } from '../support/mail.ts'
import {
  type Asked,
  addIdentity,
  addPasskey,
  allClosed,
  allOpen,
  answerAsked,
  askByCode,
  bearer,
  browserOf,
  changeLink,
  everyCredential,
  linkTo,
  login,
  me,
  NEW_PASSWORD,
  newAddress,
  otherLogins,
  post,
  proveAddress,
  resetLink,
  statusOf,
  userRow,
} from './accounts-support.ts'
import { linkFor, suspend, verifyLink } from './codes-support.ts'
import { Program } from './grants-support.ts'
import { expectEvent, expectEvents, expectRefusal, ownApp, statuses, TestClock, times, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

const noHolds = Object.fromEntries(holdings.map((name) => [name, 0]))
const isConfirmed = async (who: Person) => (await userRow(t, who.userId))?.emailVerifiedAt !== null
const expectAsked = (asked: Asked) => {
  expect([asked.status, asked.body.code]).toEqual([409, 'conflict.confirm_account'])
  expect(asked.body.detail).toStartWith('This account was created before its address was confirmed. Did you create it?')
  expect(asked.body.next).toEqual([{ route: 'POST /api/auth/confirm-account', page: '/login' }])
  expect(asked.headers.getSetCookie().map((cookie) => cookie.split('=')[0])).toEqual(['tutti_confirm'])
}

/** Everything that `holds` counts, at least once. */
async function setUpEverything(who: Person): Promise<void> {
  await addPasskey(t, who.userId)
  await addIdentity(t, who.userId)
  await who.fetch('PUT', '/api/settings/integrations/user/webhook', { secret: 'https://example.com/hook' })
  const guest = await person(t)
  const invite = { email: guest.email, role: 'member' }
  await who.fetch('POST', `/api/teams/${who.organizationId}/invite`, invite)
  const token = await linkTo(t, guest.email, `invite:${who.organizationId}`)
  expect((await guest.fetch('POST', `/api/invites/${token}/accept`)).status).toBe(200)
  await who.fetch('POST', `/api/teams/${who.organizationId}/invite`, { ...invite, email: newAddress() })
  await who.fetch<TunnelRegistered>('POST', '/api/tunnels/register', { name: 'Box', access: 'private' })
  await (await Program.registered(t)).tokens(who)
}

describe('a sign-in by code on an account whose address was not confirmed', () => {
  test('asks who created the account, and neither signs in nor ends anything', async () => {
    const ada = await person(t)
    const credentials = await everyCredential(t, ada)
    const asked = await askByCode(t, ada)
    expectAsked(asked)
    const holds = { ...noHolds, password: 1, sessions: 2, devices: 1, keys: 1, tokens: 1 }
    expect(asked.body.holds).toEqual(holds as never)
    expect(await statusOf(t, credentials)).toEqual(allOpen)
    expect((await login(t, ada.email)).status).toBe(200)
    expect(await isConfirmed(ada)).toBe(false)
  })

  test('counts everything that would end', async () => {
    const ada = await person(t)
    await setUpEverything(ada)
    const { body } = await askByCode(t, ada)
    const each = { passkeys: 1, identities: 1, integrations: 1, tunnels: 1, grants: 1, guests: 2 }
    expect(body.holds).toMatchObject({ password: 1, keys: 0, tokens: 0, sessions: 1, devices: 0, ...each })
  })

  test('signs in at once if the account is empty, because nothing can be lost', async () => {
    const [ada, admin] = [await person(t), await person(t, { admin: true })]
    expect((await admin.fetch('POST', `/api/admin/users/${ada.userId}/password`)).status).toBe(200)
    const entered = await askByCode(t, ada)
    expect(entered.status).toBe(200)
    expect(await isConfirmed(ada)).toBe(true)
  })

  test('asks the same question for a mailed link', async () => {
    const ada = await person(t)
    const { token, browser } = await linkFor(t, ada.email)
    const asked = (await verifyLink(t, token, browser)) as unknown as Asked
    expectAsked(asked)
    expect((await answerAsked(t, asked, { password: PASSWORD })).body.user.id).toBe(ada.userId)
    expect((await me(t, ada.token)).status).toBe(200)
  })
})

describe('POST /api/auth/confirm-account with the password', () => {
  test('keeps everything, signs in, sends a mail and leaves an event', async () => {
    const ada = await person(t)
    await setUpEverything(ada)
    const credentials = await everyCredential(t, ada)
    const asked = await askByCode(t, ada)
    const kept = await answerAsked(t, asked, { password: PASSWORD })
    expect([kept.status, kept.body.user.id]).toEqual([200, ada.userId])
    expect(kept.body.user.emailVerifiedAt).toBeString()
    expect((await me(t, kept.body.token)).status).toBe(200)
    const left = ['user.email_verified', 'notification.created', 'user.account_confirmed', 'user.signed_in']
    expect((await expectEvents(t, kept, ...left))[2]?.data).toEqual({ kept: true })
    expect((await keptMail(t, ada.email, 'account_kept')).text).toContain('connected programs still work')
    expect(await statusOf(t, credentials)).toEqual(allOpen)
    expect(await otherLogins(t, ada.userId)).toBe(2)
    expect((await login(t, ada.email)).status).toBe(200)
    // The address is confirmed now, so the next code signs in.
    expect((await askByCode(t, ada)).status).toBe(200)
  })

  test('counts wrong passwords as failed logins and leaves the ticket usable', async () => {
    const ada = await person(t)
    const asked = await askByCode(t, ada)
    const wrong = await answerAsked(t, asked, { password: 'not the right one' })
    expect(wrong.status).toBe(401)
    await expectEvent(t, wrong, 'auth.sign_in_failed')
    expect((await answerAsked(t, asked, {})).body.code).toBe('conflict.confirm_account')
    for (const _ of times(4, () => 0)) await answerAsked(t, asked, { password: 'not the right one' })
    expect((await answerAsked(t, asked, { password: PASSWORD })).status).toBe(429)
    expect((await login(t, ada.email)).status).toBe(429)
    expect(await isConfirmed(ada)).toBe(false)
    // The owner of the mailbox is not locked out by guesses of somebody else.
    expect((await answerAsked(t, asked, { remove: true })).status).toBe(200)
  })

  test('refuses a request with two choices', async () => {
    const asked = await askByCode(t, await person(t))
    const both = await answerAsked(t, asked, { password: PASSWORD, remove: true } as never)
    expect([both.status, both.body.errors?.[0]?.pointer]).toEqual([422, '/remove'])
  })
})

describe('POST /api/auth/confirm-account with { keep: true }', () => {
  const localhost = () => new Authenticator(t.app.url)

  async function withPasskey(): Promise<{ ada: Person; key: Authenticator }> {
    const [ada, key] = [await person(t), localhost()]
    const begun = await ada.fetch<{ sessionId: string; options: never }>('POST', '/api/auth/passkey/register/begin', {})
    const { sessionId, options } = begun.body
    const done = { sessionId, response: key.create(options) }
    expect((await ada.fetch('POST', '/api/auth/passkey/register/finish', done)).status).toBe(201)
    return { ada, key }
  }
  async function enterBy(key: Authenticator): Promise<string> {
    const { body } = await post<{ sessionId: string; options: never }>(t, 'passkey/authenticate/begin', {})
    const done = { sessionId: body.sessionId, response: key.get(body.options) }
    return (await post<{ token: string }>(t, 'passkey/authenticate/finish', done)).body.token
  }

  test('keeps everything after a sign-in with a passkey, whose session is replaced', async () => {
    const { ada, key } = await withPasskey()
    const asked = await askByCode(t, ada)
    const session = await enterBy(key)
    const kept = await answerAsked(t, asked, { keep: true }, bearer(session))
    expect([kept.status, kept.body.user?.id]).toEqual([200, ada.userId])
    expect((await me(t, session)).status).toBe(401)
    expect((await me(t, ada.token)).status).toBe(200)
    expect(await otherLogins(t, ada.userId)).toBe(1)
  })

  test('refuses a missing session, an older session, another account, a key and a device', async () => {
    const { ada, key } = await withPasskey()
    const { key: apiKey, device } = await everyCredential(t, ada)
    const earlier = await enterBy(key)
    const asked = await askByCode(t, ada)
    const other = await person(t)
    for (const token of [earlier, other.token, apiKey, device.token])
      await expectRefusal(t, await answerAsked(t, asked, { keep: true }, bearer(token)), 401, 'unauthenticated')
    expect((await answerAsked(t, asked, { keep: true })).status).toBe(401)
    expect(await isConfirmed(ada)).toBe(false)
  })
})

describe('POST /api/auth/confirm-account with { remove: true }', () => {
  test('ends every credential and connection that the question listed, sends a mail and leaves an event', async () => {
    const eve = await person(t)
    await setUpEverything(eve)
    const credentials = await everyCredential(t, eve)
    const asked = await askByCode(t, eve)
    expect(Object.values(asked.body.holds).every((count) => count > 0)).toBe(true)
    const removed = await answerAsked(t, asked, { remove: true })
    expect([removed.status, removed.body.user?.id]).toEqual([200, eve.userId])
    const left = ['user.email_verified', 'member.removed', 'grant.revoked', 'notification.created']
    const events = await expectEvents(t, removed, ...left, 'user.account_confirmed', 'user.signed_in')
    expect(events[4]?.data).toEqual({ kept: false })
    expect((await keptMail(t, eve.email, 'account_reclaimed')).text).toContain('Your records were kept')
    expect(await statusOf(t, credentials)).toEqual(allClosed)
    expect((await login(t, eve.email)).status).toBe(401)
    expect(await otherLogins(t, eve.userId)).toBe(0)
    const now = { ...bearer(removed.body.token) }
    const members = await call<MemberPage>(t, 'GET', `/api/teams/${eve.organizationId}/members`, undefined, now)
    expect(members.body.items.map(({ id }) => id)).toEqual([eve.userId])
    const grants = `select 1 from oauth_grants where user_id = $1 and revoked_at is null`
    const machines = `select 1 from tunnels where owner_id = $1 and (token_hash is not null or claim_hash is not null)`
    for (const left of [grants, machines]) expect((await t.app.driver.query(left, [eve.userId])).rows).toEqual([])
  })

  test('removes other teams from the workspaces of the personal space', async () => {
    const eve = await person(t)
    const made = async (path: string, body: object) => (await eve.fetch<{ id: string }>('POST', path, body)).body.id
    const space = await made('/api/workspaces', { name: 'Shared' })
    const team = await made('/api/teams', { name: 'Others' })
    expect((await eve.fetch('POST', `/api/workspaces/${space}/teams`, { teamId: team, role: 'editor' })).status).toBe(
      201,
    )
    const asked = await askByCode(t, eve)
    expect(asked.body.holds.guests).toBe(1)
    expect((await answerAsked(t, asked, { remove: true })).status).toBe(200)
    const left = 'select organization_id::text from workspace_teams where workspace_id = $1'
    expect((await t.app.driver.query(left, [space])).rows).toEqual([[eve.organizationId]])
  })

  test('keeps records and teams', async () => {
    const eve = await person(t)
    const note = await eve.fetch<Note>('POST', '/api/notes', { title: 'Kept', content: 'as it was' })
    const team = await eve.fetch<{ id: string }>('POST', '/api/teams', { name: 'Kept team' })
    const { body } = await answerAsked(t, await askByCode(t, eve), { remove: true })
    for (const path of [`/api/notes/${note.body.id}`, `/api/teams/${team.body.id}`])
      expect((await call(t, 'GET', path, undefined, bearer(body.token))).status).toBe(200)
  })
})

describe('a ticket', () => {
  test('works once: of ten simultaneous answers one succeeds', async () => {
    const ada = await person(t)
    const asked = await askByCode(t, ada)
    const choices = times(10, (i) => (i % 2 ? { remove: true as const } : { password: PASSWORD }))
    const answers = await Promise.all(choices.map((choice) => answerAsked(t, asked, choice)))
    expect(statuses(answers).filter((status) => status === 200)).toEqual([200])
    expect(new Set(statuses(answers).slice(1))).not.toContain(500)
    expect(await mailRows(t, ada.email, 'account_kept')).toHaveLength(answers.some(isKept) ? 1 : 0)
    expect((await answerAsked(t, asked, { remove: true })).status).toBe(410)
  })
  const isKept = ({ status, body }: Awaited<ReturnType<typeof answerAsked>>, i: number) =>
    status === 200 && i % 2 === 0 && !!body.user

  test('is refused in another browser, and to a caller without a browser', async () => {
    const [ada, other] = [await person(t), await person(t)]
    const asked = await askByCode(t, ada)
    const elsewhere = browserOf(await askByCode(t, other))
    for (const headers of [elsewhere, { cookie: '' }])
      for (const choice of [{ remove: true as const }, { password: PASSWORD }, {}])
        await expectRefusal(t, await answerAsked(t, asked, choice, headers), 410, 'gone')
    expect((await answerAsked(t, asked, { password: PASSWORD })).status).toBe(200)
  })

  test('is replaced by a newer one of the same account', async () => {
    const ada = await person(t)
    const first = await askByCode(t, ada)
    const second = await askByCode(t, ada)
    expect((await answerAsked(t, first, { remove: true })).status).toBe(410)
    expect((await answerAsked(t, second, { password: PASSWORD })).status).toBe(200)
  })

  test('still works after the password was changed, and then needs the new one', async () => {
    const ada = await person(t)
    const asked = await askByCode(t, ada)
    const change = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }
    expect((await post(t, 'change-password', change, ada.token)).status).toBe(200)
    expect((await answerAsked(t, asked, { password: PASSWORD })).status).toBe(401)
    expect((await answerAsked(t, asked, { password: NEW_PASSWORD })).status).toBe(200)
  })

  test('is invalid once the address was confirmed or changed', async () => {
    const [ada, grace] = [await person(t), await person(t)]
    const asked = await askByCode(t, ada)
    await proveAddress(t, ada)
    const moving = await askByCode(t, grace)
    await post(t, 'email-change/confirm', { token: await changeLink(t, grace, newAddress()) }, grace.token)
    for (const one of [asked, moving]) await expectRefusal(t, await answerAsked(t, one, { remove: true }), 410, 'gone')
  })

  test('does not sign in to a suspended account', async () => {
    const ada = await person(t)
    const asked = await askByCode(t, ada)
    await suspend(t, ada)
    for (const choice of [{ remove: true as const }, { password: PASSWORD }])
      expect((await answerAsked(t, asked, choice)).status).toBe(401)
    expect(await isConfirmed(ada)).toBe(false)
  })

  test('gives no access to the account by itself', async () => {
    const ada = await person(t)
    const asked = await askByCode(t, ada)
    for (const path of ['/api/auth/me', '/api/settings/api-keys'])
      expect((await call(t, 'GET', path, undefined, browserOf(asked))).status).toBe(401)
    expect((await me(t, asked.body.ticket)).status).toBe(401)
  })
})

describe('a ticket and time', () => {
  const clock = new TestClock()
  let own: TestApp
  beforeAll(async () => {
    own = await ownApp(clock.now)
  })
  afterAll(() => own.close())

  test('expires after ten minutes', async () => {
    const ada = await person(own)
    const asked = await askByCode(own, ada)
    clock.forward({ minutes: 9, seconds: 59 })
    expect((await answerAsked(own, asked, {})).status).toBe(409)
    clock.forward({ seconds: 1 })
    expect((await answerAsked(own, asked, { password: PASSWORD })).status).toBe(410)
  })

  test('is limited in attempts as a login is', async () => {
    clock.forward({ minutes: 5 })
    const asked = await askByCode(own, await person(own))
    const tries = await Promise.all(times(40, () => answerAsked(own, asked, {})))
    expect(new Set(statuses(tries))).toEqual(new Set([409, 429]))
  })
})

describe('POST /api/auth/reset-password on an account whose address was not confirmed', () => {
  const choose = async (who: Person) =>
    (await post(t, 'reset-password', {
      token: await resetLink(t, who.email),
      password: NEW_PASSWORD,
    })) as unknown as Asked

  test('asks who created the account and changes no password', async () => {
    const ada = await person(t)
    const asked = await choose(ada)
    expectAsked(asked)
    expect([(await login(t, ada.email)).status, (await login(t, ada.email, NEW_PASSWORD)).status]).toEqual([200, 401])
  })

  test('sets the new password with { remove: true } and ends the other access', async () => {
    const ada = await person(t)
    const credentials = await everyCredential(t, ada)
    expect((await answerAsked(t, await choose(ada), { remove: true })).status).toBe(200)
    expect(await statusOf(t, credentials)).toEqual(allClosed)
    expect([(await login(t, ada.email)).status, (await login(t, ada.email, NEW_PASSWORD)).status]).toEqual([401, 200])
  })

  test('sets the new password with the old one as proof, and keeps the other access', async () => {
    const ada = await person(t)
    const credentials = await everyCredential(t, ada)
    expect((await answerAsked(t, await choose(ada), { password: PASSWORD })).status).toBe(200)
    expect(await statusOf(t, credentials)).toEqual(allOpen)
    expect((await login(t, ada.email, NEW_PASSWORD)).status).toBe(200)
  })
})

describe('an account that the operator made with `tutti admin create`', () => {
  test('is confirmed, even if someone had registered with its address before', async () => {
    const squatter = await person(t)
    const input = { email: squatter.email, password: NEW_PASSWORD, name: 'Root' }
    expect((await createAdmin(systemCtx(t), input)).emailVerifiedAt).toBeString()
    expect((await askByCode(t, squatter)).status).toBe(200)
    expect((await login(t, squatter.email, NEW_PASSWORD)).status).toBe(200)
  })
})

describe('an account that was registered with an invitation', () => {
  test('is asked about if the link was handed over instead of mailed', async () => {
    const [host, email] = [await person(t), newAddress()]
    await host.fetch('POST', `/api/teams/${host.organizationId}/invite`, { email, role: 'member' })
    const inviteToken = await linkTo(t, email, `invite:${host.organizationId}`)
    const newcomer = { email, password: PASSWORD, name: 'Newcomer', inviteToken }
    expect((await post(t, 'register', newcomer)).status).toBe(201)
    expectAsked(await askByCode(t, { email }))
  })
})
