import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Role } from '../../src/auth/policy.ts'
import { newSecret } from '../../src/auth/secrets.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { Invite, InvitePreview, InviteSent } from '../../src/features/invites/schema.ts'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import type { Onboarded } from '../../src/features/onboarding/schema.ts'
import type { MemberPage, Organization } from '../../src/features/organizations/schema.ts'
import {
  call,
  member,
  PASSWORD,
  type Person,
  person,
  sharedApp,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { keptMail, linkSecretIn, mailServer } from '../support/mail.ts'
import { substitutesOf } from './accounts-support.ts'
import { expectEvents, expectRefusal, TestClock, times, watch } from './support.ts'

let t: TestApp
let ada: Person
const server = await mailServer()
const sending = watch(await testApp(server.settings))
afterAll(() => sending.close())
/** Waits for the mailed invitation; the mail that confirms the address of a new account may come first. */
async function mailedToken(email: string): Promise<string> {
  const mail = await server.mailTo(email)
  return mail.subject?.includes('invites you') ? linkSecretIn(mail) : mailedToken(email)
}
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t, { name: 'Ada Lovelace' })
})

const newTeam = async (): Promise<Organization> =>
  (await ada.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
const send = (team: { id: string }, email: string, role?: Role, by = ada) =>
  by.fetch<Invite>('POST', `/api/teams/${team.id}/invite`, { email, ...(role && { role }) })
const tokenFor = async (team: { id: string }, email: string, at = t) =>
  linkSecretIn(await keptMail(at, email, `invite:${team.id}`))
const accept = (who: Person, token: string) => who.fetch<Organization>('POST', `/api/invites/${token}/accept`)
const preview = (token: string, at = t) => call<InvitePreview>(at, 'POST', '/api/invites/preview', { token })
const isVerified = async (who: Person) =>
  (await who.fetch<{ emailVerifiedAt: string | null }>('GET', '/api/auth/me')).body.emailVerifiedAt !== null
const rolesIn = async (team: { id: string }) => {
  const { body } = await ada.fetch<MemberPage>('GET', `/api/teams/${team.id}/members?limit=200`)
  return new Map(body.items.map((m) => [m.id, m.role]))
}
const titlesOf = async (who: Person) =>
  (await who.fetch<NotificationPage>('GET', '/api/notifications?limit=200')).body.items
    .filter(({ reason }) => reason === 'security')
    .map(({ title, message }) => [title, message])

describe('a device, key or impersonator', () => {
  test('sends invites, but gets no link, with which it could become a person', async () => {
    const boss = await person(t)
    for (const [name, use] of Object.entries(await substitutesOf(t, boss))) {
      const email = `${unique('guest')}@example.com`
      const invited = await use<InviteSent>('POST', `/api/teams/${boss.organizationId}/invite`, { email })
      expect([name, invited.status, 'link' in invited.body]).toEqual([name, 201, false])
      expect(invited.body.detail).toContain(`/teams/${boss.organizationId}. The operator of the server`)
      expect(JSON.stringify(invited.body)).not.toContain('svc_inv_')
      expect((await preview(await tokenFor({ id: boss.organizationId }, email))).status).toBe(200)
    }
    const atBrowser = await boss.fetch('POST', `/api/teams/${boss.organizationId}/invite`, { email: 'own@example.com' })
    expect([Object.keys(atBrowser.body).includes('link'), 'detail' in atBrowser.body]).toEqual([true, false])
  })

  test('cannot invite an admin or owner, nor change the role of an open invite to one', async () => {
    const boss = await person(t)
    const team = { id: boss.organizationId }
    const email = `${unique('guest')}@example.com`
    await send(team, email, 'member', boss)
    const token = await tokenFor(team, email)
    for (const [name, use] of Object.entries(await substitutesOf(t, boss)))
      for (const role of ['admin', 'owner']) {
        const tried = await use('POST', `/api/teams/${team.id}/invite`, { email, role })
        const { next } = await expectRefusal(t, tried, 403, 'forbidden')
        if (name !== 'impersonator') expect(next).toEqual([{ page: `/teams/${team.id}` }])
      }
    expect((await preview(token)).body.role).toBe('member')
  })

  test('gets no link at the end of onboarding', async () => {
    const boss = await person(t)
    const { device } = await substitutesOf(t, boss)
    const organization = { name: unique('First') }
    const email = `${unique('guest')}@example.com`
    const start = (role: Role) =>
      (device as Person['fetch'])<Onboarded>('POST', '/api/onboarding', { organization, invites: [{ email, role }] })
    await expectRefusal(t, await start('owner'), 403, 'forbidden')
    const started = await start('member')
    expect([started.status, started.body.links, started.body.invites.length]).toEqual([201, [], 1])
    expect(started.body.detail).toContain('`tutti outbox`')
  })
})

test('owners are notified when an admin or owner is invited and when they join', async () => {
  const boss = await person(t)
  const [other, plain] = [await member(t, boss, 'owner'), await member(t, boss, 'admin')]
  const team = { id: boss.organizationId }
  const guest = await person(t, { name: 'Joan Clarke' })
  await send(team, `${unique('viewer')}@example.com`, 'viewer', boss)
  await send(team, guest.email, 'admin', boss)
  const asked = ["New invitation: admin of Ada Lovelace's space", `Ada Lovelace invited ${guest.email}.`]
  expect([await titlesOf(other), await titlesOf(boss), await titlesOf(plain)]).toEqual([[asked], [], []])
  expect((await accept(guest, await tokenFor(team, guest.email))).status).toBe(200)
  const joined = [
    "Joan Clarke joined Ada Lovelace's space as admin",
    `They accepted the invitation of Ada Lovelace to ${guest.email}.`,
  ]
  expect([await titlesOf(other), await titlesOf(boss), await titlesOf(plain)]).toEqual([[joined, asked], [joined], []])
})

describe('an unconfirmed address', () => {
  test('is confirmed by the mailed link, right after signing in', async () => {
    const boss = await person(sending)
    const me = await person(sending)
    const invited = await send({ id: boss.organizationId }, me.email, 'member', boss)
    expect(invited.body).not.toHaveProperty('link')
    const token = await mailedToken(me.email)
    expect(await isVerified(me)).toBe(false)
    const accepted = await accept(me, token)
    expect(accepted.status).toBe(200)
    await expectEvents(sending, accepted, 'user.email_verified', 'member.added', 'invite.accepted')
    expect(await isVerified(me)).toBe(true)
    // It was the same person, so nothing is taken away.
    expect((await call(t, 'POST', '/api/auth/login', { email: me.email, password: PASSWORD })).status).toBe(200)
  })

  test('is not confirmed by a link that the inviter hands over because no mail server exists', async () => {
    const team = await newTeam()
    const me = await person(t)
    const path = `/api/teams/${team.id}/invite`
    const once = { 'idempotency-key': unique('invite') }
    const invited = await ada.fetch<InviteSent>('POST', path, { email: me.email }, once)
    expect(invited.body.link).toBe(`${t.app.url}/invite#${await tokenFor(team, me.email)}`)
    expect((await ada.fetch('POST', path, { email: me.email }, once)).body).not.toHaveProperty('link')
    const { body } = await ada.fetch<{ items: Invite[] }>('GET', `/api/teams/${team.id}/invites`)
    expect(body.items.map((item) => 'link' in item)).toEqual([false])
    const accepted = await accept(me, linkSecretIn({ text: invited.body.link }))
    expect(accepted.status).toBe(200)
    await expectEvents(t, accepted, 'member.added', 'invite.accepted')
    expect(await isVerified(me)).toBe(false)
    expect((await rolesIn(team)).get(me.userId)).toBe('member')
  })

  test('is not confirmed in an earlier session, whose owner may be someone else', async () => {
    const clock = new TestClock()
    const own = watch(await testApp(server.settings, clock.now))
    try {
      const boss = await person(own)
      const me = await person(own)
      await send({ id: boss.organizationId }, me.email, 'member', boss)
      const token = await mailedToken(me.email)
      clock.forward({ minutes: 14, seconds: 30 })
      // The access token lives fifteen minutes, so the session is renewed and is as old as it was.
      const renewed = await call<SignedIn>(own, 'POST', '/api/auth/refresh', { refreshToken: me.refreshToken })
      clock.forward({ minutes: 1 })
      const stale = await call(own, 'POST', `/api/invites/${token}/accept`, undefined, {
        authorization: `Bearer ${renewed.body.token}`,
      })
      await expectRefusal(own, stale, 403, 'forbidden.reauth')
      const declined = await call(own, 'POST', `/api/invites/${token}/decline`, undefined, {
        authorization: `Bearer ${renewed.body.token}`,
      })
      expect(declined.status).toBe(200)
    } finally {
      await own.close()
    }
  })
})

describe('the preview of an invite', () => {
  test('shows the holder of the link the team and role, and not whether the address has an account', async () => {
    const team = await newTeam()
    const unknown = `${unique('nobody')}@example.com`
    const known = await person(t)
    for (const email of [unknown, known.email]) {
      const sent = await send(team, email, 'viewer')
      const seen = await preview(await tokenFor(team, email))
      expect(seen.status).toBe(200)
      expect(seen.body).toEqual({
        organization: { name: team.name },
        email,
        role: 'viewer',
        invitedBy: { name: 'Ada Lovelace' },
        expiresAt: sent.body.expiresAt,
      })
    }
    await expectRefusal(t, await preview('nonsense'), 404, 'not_found')
    await expectRefusal(t, await preview(newSecret('once')), 404, 'not_found')
  })
})

describe('an invited person without an account', () => {
  test('receives a mail with a working link', async () => {
    const boss = await person(sending, { name: 'Ada Lovelace' })
    const email = `${unique('mailed')}@example.com`
    expect((await send({ id: boss.organizationId }, email, 'member', boss)).status).toBe(201)
    const mail = await server.mailTo(email)
    expect(mail.subject).toBe("Ada Lovelace invites you to Ada Lovelace's space")
    const body = { email, password: PASSWORD, name: 'Joan Clarke', inviteToken: linkSecretIn(mail) }
    const made = await call<SignedIn>(sending, 'POST', '/api/auth/register', body)
    expect(made.status).toBe(201)
    expect(made.body.user.emailVerifiedAt).not.toBeNull()
  })

  test('joins a server with closed registration; a link that was handed over confirms no address', async () => {
    const closed = watch(await testApp({ REGISTRATION: 'closed' }))
    try {
      const team = await newTeam()
      const email = `${unique('joiner')}@example.com`
      await send(team, email, 'admin')
      const token = await tokenFor(team, email)
      const register = (body: object) =>
        call<SignedIn>(closed, 'POST', '/api/auth/register', {
          email,
          password: PASSWORD,
          name: 'Joan Clarke',
          ...body,
        })
      await expectRefusal(closed, await register({}), 403, 'forbidden')
      await expectRefusal(closed, await register({ inviteToken: 'nonsense' }), 404, 'not_found')
      await expectRefusal(closed, await register({ inviteToken: newSecret('invite') }), 410, 'gone')
      const other = await expectRefusal(
        closed,
        await register({ inviteToken: token, email: `x${email}` }),
        422,
        'invalid',
      )
      expect(other.errors).toMatchObject([{ pointer: '/email' }])
      await expectRefusal(closed, await register({ inviteToken: token, password: 'short' }), 422, 'invalid')
      const answers = await Promise.all(times(3, () => register({ inviteToken: token, email: email.toUpperCase() })))
      // The others come too late for the address or for the invite.
      expect(answers.filter((a) => a.status === 201)).toHaveLength(1)
      expect(answers.every((a) => [201, 409, 410].includes(a.status))).toBe(true)
      const made = answers.find((a) => a.status === 201) as (typeof answers)[number]
      await expectEvents(closed, made, 'user.registered', 'member.added', 'invite.accepted', 'notification.created')
      expect(made.body.user.emailVerifiedAt).toBeNull()
      expect((await rolesIn(team)).get(made.body.user.id)).toBe('admin')
      await expectRefusal(closed, await register({ inviteToken: token, email }), 410, 'gone')
    } finally {
      await closed.close()
    }
  })

  test('cannot register a known address again, and the invite stays open', async () => {
    const team = await newTeam()
    const me = await person(t)
    await send(team, me.email)
    const token = await tokenFor(team, me.email)
    const body = { email: me.email, password: PASSWORD, name: 'Me', inviteToken: token }
    await expectRefusal(t, await call(t, 'POST', '/api/auth/register', body), 409, 'conflict.exists')
    expect((await preview(token)).status).toBe(200)
    expect(await isVerified(me)).toBe(false)
  })
})
