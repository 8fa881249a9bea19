import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Role } from '../../src/auth/policy.ts'
import { roles } from '../../src/auth/policy.ts'
import { newSecret } from '../../src/auth/secrets.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Invite, InvitePage, InvitePreview, InviteSent } from '../../src/features/invites/schema.ts'
import { invites as inviteTable } from '../../src/features/invites/table.ts'
import { notifications } from '../../src/features/notifications/table.ts'
import type { MemberPage, Organization } from '../../src/features/organizations/schema.ts'
import { users } from '../../src/features/users/table.ts'
import {
  call,
  logged,
  PASSWORD,
  type Person,
  person,
  sharedApp,
  systemCtx,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { keptMail, linkSecretIn, mailRows } from '../support/mail.ts'
import { expectEvent, expectEvents, expectRefusal, ids, statuses, TestClock, times, watch } from './support.ts'

let t: TestApp
let ada: Person
let grace: Person
let edsger: Person
let barbara: Person
let stranger: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ;[ada, grace, edsger, barbara, stranger] = (await Promise.all(
    ['Ada Lovelace', 'Grace Hopper', 'Edsger Dijkstra', 'Barbara Liskov', 'Some Stranger'].map((name) =>
      person(t, { name }),
    ),
  )) as [Person, Person, Person, Person, Person]
})

const newTeam = async (): Promise<Organization> =>
  (await ada.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
const add = (team: { id: string }, who: Person, role: Role) =>
  addMember(systemCtx(t), { id: team.id, userId: who.userId, role })
const send = (team: { id: string }, email: string, role?: Role, by = ada) =>
  by.fetch<Invite>('POST', `/api/teams/${team.id}/invite`, { email, ...(role && { role }) })
const tokenFor = async (team: { id: string }, email: string, at = t) =>
  linkSecretIn(await keptMail(at, email, `invite:${team.id}`))
const answer = (who: Person, ref: string, verb: 'accept' | 'decline' = 'accept') =>
  who.fetch<Organization>('POST', `/api/invites/${ref}/${verb}`)
const preview = (token: string, at = t) => call<InvitePreview>(at, 'POST', '/api/invites/preview', { token })
const verify = (who: Person) =>
  t.app.db.update(users).set({ emailVerifiedAt: new Date().toISOString() }).where(eq(users.id, who.userId))
const rolesIn = async (team: { id: string }) => {
  const { body } = await ada.fetch<MemberPage>('GET', `/api/teams/${team.id}/members?limit=200`)
  return new Map(body.items.map((m) => [m.id, m.role]))
}
const openInvites = async (team: { id: string }, by = ada) =>
  (await by.fetch<InvitePage>('GET', `/api/teams/${team.id}/invites?total=true`)).body

describe('inviting a person', () => {
  test('stores the mail and returns its link, which no list or event contains', async () => {
    const team = await newTeam()
    const email = `${unique('new')}@example.com`
    const sent = await send(team, email)
    expect(sent.status).toBe(201)
    expect(sent.headers.get('location')).toBe(`/api/teams/${team.id}/invites/${sent.body.id}`)
    expect(sent.body).toMatchObject({
      email,
      role: 'member',
      organization: { id: team.id, name: team.name },
      invitedBy: { id: ada.userId, name: 'Ada Lovelace' },
      acceptedAt: null,
      version: 1,
    })
    expect(Date.parse(sent.body.expiresAt) - Date.parse(sent.body.createdAt)).toBe(14 * 86_400_000)
    const event = await expectEvent(t, sent, 'invite.created')
    expect(event).toMatchObject({ subjectId: sent.body.id, organizationId: team.id, data: { email, role: 'member' } })
    const mail = await keptMail(t, email)
    expect(mail.subject).toBe(`Ada Lovelace invites you to ${team.name}`)
    expect(mail.text).toContain(`${t.app.url}/invite#svc_inv_`)
    const token = linkSecretIn(mail)
    // Without a mail server the inviter hands the link over.
    const { link, ...invite } = sent.body as InviteSent
    expect(link).toEndWith(`#${token}`)
    expect(JSON.stringify([invite, event])).not.toContain(token)
    const [row] = await t.app.db.select().from(inviteTable).where(eq(inviteTable.id, sent.body.id))
    expect(JSON.stringify(row)).not.toContain(token)
    expect(logged.join('')).not.toContain(token)
  })

  test('is allowed by the role of the inviter and the invited role', async () => {
    const team = await newTeam()
    await Promise.all([add(team, grace, 'admin'), add(team, edsger, 'member'), add(team, barbara, 'viewer')])
    const by: Record<Role, Person> = { owner: ada, admin: grace, member: edsger, viewer: barbara }
    for (const actor of roles)
      for (const role of roles) {
        const tried = await send(team, `${unique('x')}@example.com`, role, by[actor])
        const allowed = actor === 'owner' || (actor === 'admin' && role !== 'owner')
        if (allowed) expect([actor, role, tried.status, tried.body.role]).toEqual([actor, role, 201, role])
        else await expectRefusal(t, tried, 403, 'forbidden')
      }
    await expectRefusal(t, await send(team, 'x@example.com', 'member', stranger), 404, 'not_found')
    await expectRefusal(
      t,
      await call(t, 'POST', `/api/teams/${team.id}/invite`, { email: 'x@example.com' }),
      401,
      'unauthenticated',
    )
  })

  test.each([
    ['no address', {}],
    ['something else than an address', { email: 'nobody' }],
    ['an unknown role', { email: 'x@example.com', role: 'king' }],
    ['a field of ours', { email: 'x@example.com', organizationId: Bun.randomUUIDv7() }],
  ])('is refused with %s', async (_, body) => {
    await expectRefusal(t, await ada.fetch('POST', `/api/teams/${ada.organizationId}/invite`, body), 422, 'invalid')
  })

  test('works for a personal space, and is refused for someone who is a member', async () => {
    const sent = await send({ id: ada.organizationId }, `${unique('guest')}@example.com`)
    expect(sent.status).toBe(201)
    const team = await newTeam()
    await add(team, grace, 'viewer')
    await expectRefusal(t, await send(team, grace.email.toUpperCase()), 409, 'conflict.exists')
    expect((await openInvites(team)).items).toEqual([])
  })

  test('again renews the open invite: the old link stops working, and other teams’ invites stay', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const email = `${unique('twice')}@example.com`
    const first = await send(team, email, 'viewer')
    const oldToken = await tokenFor(team, email)
    await send(other, email)
    const second = await send(team, email.toUpperCase(), 'admin')
    expect(second.body).toMatchObject({ id: first.body.id, role: 'admin', version: 2, createdAt: first.body.createdAt })
    await expectEvent(t, second, 'invite.renewed')
    expect(await openInvites(team)).toMatchObject({ items: [{ id: first.body.id }], total: 1 })
    await expectRefusal(t, await preview(oldToken), 410, 'gone')
    expect((await preview(await tokenFor(team, email))).body.role).toBe('admin')
    expect((await preview(await tokenFor(other, email))).status).toBe(200)
    const kept = (await mailRows(t, email)).filter((m) => m.sealed !== null)
    expect(kept.map((m) => m.kind).sort()).toEqual([`invite:${team.id}`, `invite:${other.id}`].sort())
  })

  test('ten times at once leaves one open invite', async () => {
    const team = await newTeam()
    const email = `${unique('ten')}@example.com`
    const answers = await Promise.all(times(10, () => send(team, email)))
    expect(statuses(answers)).toEqual(times(10, () => 201))
    expect((await openInvites(team)).total).toBe(1)
    expect((await preview(await tokenFor(team, email))).status).toBe(200)
  })

  test('notifies someone with a confirmed address only', async () => {
    const team = await newTeam()
    const [known, unproven] = [await person(t), await person(t)]
    await verify(known)
    for (const who of [known, unproven]) expect((await send(team, who.email)).status).toBe(201)
    const notices = await t.app.db.select().from(notifications).where(eq(notifications.userId, known.userId))
    expect(notices).toMatchObject([{ reason: 'invite', title: `Ada Lovelace invites you to ${team.name}` }])
    expect(await t.app.db.select().from(notifications).where(eq(notifications.userId, unproven.userId))).toEqual([])
  })

  test('cannot add lines to the mail by a name', async () => {
    const email = `${unique('lines')}@example.com`
    const team = (
      await ada.fetch<Organization>('POST', '/api/teams', { name: 'Evil\r\nBcc: all@example.com\u2028<b>hi</b>' })
    ).body
    await send(team, email)
    const mail = await keptMail(t, email)
    expect(mail.subject).not.toMatch(/[\r\n\u2028]/)
    expect(mail.html).not.toContain('<b>')
  })

  test('is limited to fifty a day for a team and a person, and ten for an address', async () => {
    const clock = new TestClock()
    const own = watch(await testApp({}, clock.now))
    try {
      const boss = await person(own)
      const teams: Organization[] = []
      for (let i = 0; i < 12; i++)
        teams.push((await boss.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body)
      const email = `${unique('bombed')}@example.com`
      for (const team of teams.slice(0, 10)) expect((await send(team, email, 'member', boss)).status).toBe(201)
      const refused = await send(teams[10] as Organization, email, 'member', boss)
      await expectRefusal(own, refused, 429, 'rate_limited')
      expect(Number(refused.headers.get('retry-after'))).toBe(86_400)
      const [team] = teams as [Organization]
      for (let i = 0; i < 40; i++)
        expect((await send(team, `${unique('many')}@example.com`, 'member', boss)).status).toBe(201)
      await expectRefusal(own, await send(team, `${unique('many')}@example.com`, 'member', boss), 429, 'rate_limited')
      // Somebody else of the team has some left: only so many as the team has.
      const second = await person(own)
      await addMember(systemCtx(own), { id: team.id, userId: second.userId, role: 'admin' })
      for (let i = 0; i < 9; i++)
        expect((await send(team, `${unique('many')}@example.com`, 'member', second)).status).toBe(201)
      await expectRefusal(own, await send(team, `${unique('many')}@example.com`, 'member', second), 429, 'rate_limited')
      clock.forward({ days: 1, seconds: 1 })
      expect((await call(own, 'POST', '/api/auth/login', { email: boss.email, password: PASSWORD })).status).toBe(200)
      const { body } = await call<SignedIn>(own, 'POST', '/api/auth/login', { email: boss.email, password: PASSWORD })
      const again = await call(
        own,
        'POST',
        `/api/teams/${team.id}/invite`,
        { email },
        { authorization: `Bearer ${body.token}` },
      )
      expect(again.status).toBe(201)
    } finally {
      await own.close()
    }
  }, 300_000)
})

describe('the open invites of a team', () => {
  test('are visible to the team only; owners and admins withdraw them', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    await Promise.all([add(team, grace, 'admin'), add(team, barbara, 'viewer')])
    const emails = times(3, () => `${unique('p')}@example.com`)
    const sent = await Promise.all(emails.map((email, i) => send(team, email, i === 0 ? 'owner' : 'member')))
    await send(other, emails[0] as string)
    expect(ids(await openInvites(team, barbara))).toEqual(ids({ items: sent.map((s) => s.body) }))
    const paged = await ada.fetch<InvitePage>('GET', `/api/teams/${team.id}/invites?limit=2`)
    const rest = await ada.fetch<InvitePage>(
      'GET',
      `/api/teams/${team.id}/invites?limit=2&cursor=${paged.body.nextCursor}`,
    )
    expect(ids({ items: [...paged.body.items, ...rest.body.items] })).toEqual(ids({ items: sent.map((s) => s.body) }))
    expect(JSON.stringify(paged.body)).not.toContain('svc_inv_')
    await expectRefusal(t, await stranger.fetch('GET', `/api/teams/${team.id}/invites`), 404, 'not_found')

    const [owners, members] = sent.map((s) => `/api/teams/${team.id}/invites/${s.body.id}`) as [string, string]
    const token = await tokenFor(team, emails[1] as string)
    await expectRefusal(t, await barbara.fetch('DELETE', members), 403, 'forbidden')
    await expectRefusal(t, await grace.fetch('DELETE', owners), 403, 'forbidden')
    await expectRefusal(t, await ada.fetch('DELETE', members.replace(team.id, other.id)), 404, 'not_found')
    await expectRefusal(t, await stranger.fetch('DELETE', members), 404, 'not_found')
    const withdrawn = await grace.fetch('DELETE', members)
    expect(withdrawn.body).toEqual({ id: sent[1]?.body.id, deleted: true })
    await expectEvent(t, withdrawn, 'invite.withdrawn')
    await expectRefusal(t, await preview(token), 410, 'gone')
    await expectRefusal(t, await ada.fetch('DELETE', members), 404, 'not_found')
    expect((await mailRows(t, emails[1] as string)).every((m) => m.sealed === null)).toBe(true)
    expect((await openInvites(team)).total).toBe(2)
  })
})

describe('the receiver of an invite', () => {
  test('accepts with the mailed token and is a member at once', async () => {
    const team = await newTeam()
    const me = await person(t)
    await verify(me)
    await send(team, me.email.toUpperCase(), 'viewer')
    const token = await tokenFor(team, me.email)
    const accepted = await answer(me, token)
    expect(accepted.status).toBe(200)
    expect(accepted.body).toMatchObject({ id: team.id, name: team.name, role: 'viewer', planStatus: 'active' })
    const [joined] = await expectEvents(t, accepted, 'member.added', 'invite.accepted')
    expect(joined).toMatchObject({
      organizationId: team.id,
      data: { userId: me.userId, role: 'viewer' },
      actor: { id: me.userId },
    })
    expect((await me.fetch('GET', `/api/teams/${team.id}`)).status).toBe(200)
    expect((await rolesIn(team)).get(me.userId)).toBe('viewer')
    expect((await openInvites(team)).items).toEqual([])
    const used = await expectRefusal(t, await answer(me, token), 410, 'gone')
    // The token is in the path, and must not come back in what people paste into tickets.
    expect(JSON.stringify(used)).not.toContain(token)
    await expectRefusal(t, await preview(token), 410, 'gone')
    expect(
      (await mailRows(t, me.email)).filter((m) => m.kind.startsWith('invite')).every((m) => m.sealed === null),
    ).toBe(true)
  })

  test('with a confirmed address sees their own open invites and answers by id', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const me = await person(t)
    const sent = [await send(team, me.email), await send(other, me.email, 'admin')]
    expect((await me.fetch<InvitePage>('GET', '/api/invites?total=true')).body).toEqual({
      items: [],
      nextCursor: null,
      total: 0,
    })
    await expectRefusal(t, await answer(me, sent[0]?.body.id as string), 404, 'not_found')
    await verify(me)
    const mine = (await me.fetch<InvitePage>('GET', '/api/invites?total=true')).body
    expect(ids(mine)).toEqual(ids({ items: sent.map((s) => s.body) }))
    expect(mine.total).toBe(2)
    expect((await stranger.fetch<InvitePage>('GET', '/api/invites')).body.items).toEqual([])
    const declined = await answer(me, sent[0]?.body.id as string, 'decline')
    expect(declined.body as unknown).toEqual({ id: sent[0]?.body.id, declined: true })
    await expectEvent(t, declined, 'invite.declined')
    expect((await answer(me, sent[1]?.body.id as string)).body).toMatchObject({ id: other.id, role: 'admin' })
    expect((await me.fetch<InvitePage>('GET', '/api/invites')).body.items).toEqual([])
    await expectRefusal(t, await answer(me, sent[0]?.body.id as string), 410, 'gone')
    expect((await rolesIn(team)).has(me.userId)).toBe(false)
  })

  test('does not find the invite of someone else, by token or by id', async () => {
    const team = await newTeam()
    await verify(stranger)
    const email = `${unique('other')}@example.com`
    const sent = await send(team, email)
    const token = await tokenFor(team, email)
    for (const ref of [token, sent.body.id, newSecret('once'), 'nonsense', Bun.randomUUIDv7()])
      for (const verb of ['accept', 'decline'] as const)
        await expectRefusal(t, await answer(stranger, ref, verb), 404, 'not_found')
    // A link of ours that is not there any more was replaced or cleared away.
    await expectRefusal(t, await answer(stranger, newSecret('invite')), 410, 'gone')
    expect((await preview(token)).status).toBe(200)
    expect((await rolesIn(team)).size).toBe(1)
  })

  test('has no rights before accepting, whatever the role', async () => {
    const team = await newTeam()
    const me = await person(t)
    await verify(me)
    await send(team, me.email, 'owner')
    for (const path of [
      '',
      '/members',
      '/invites',
      '/projects',
      '/features',
      '/skills',
      '/agents',
      '/activity',
      '/analytics',
      '/presence',
      '/workspaces',
    ])
      await expectRefusal(t, await me.fetch('GET', `/api/teams/${team.id}${path}`), 404, 'not_found')
    await expectRefusal(t, await me.fetch('PATCH', `/api/teams/${team.id}`, { name: 'Mine' }), 404, 'not_found')
    await expectRefusal(t, await send(team, 'x@example.com', 'member', me), 404, 'not_found')
    await expectRefusal(
      t,
      await me.fetch('GET', '/api/projects', undefined, { 'x-organization-id': team.id }),
      404,
      'not_found',
    )
  })

  test('becomes a member once by ten simultaneous calls', async () => {
    const team = await newTeam()
    const me = await person(t)
    await verify(me)
    const sent = await send(team, me.email)
    const token = await tokenFor(team, me.email)
    const answers = await Promise.all(times(10, (i) => answer(me, i % 2 ? token : sent.body.id)))
    expect(statuses(answers)).toEqual([200, ...times(9, () => 410)])
    expect((await rolesIn(team)).get(me.userId)).toBe('member')
  })

  test('keeps their role if they became a member meanwhile', async () => {
    const team = await newTeam()
    const me = await person(t)
    await verify(me)
    const sent = await send(team, me.email, 'admin')
    await add(team, me, 'viewer')
    const accepted = await answer(me, sent.body.id)
    expect(accepted.body.role).toBe('viewer')
    await expectEvent(t, accepted, 'invite.accepted')
  })

  test('does not get a role that the inviter could no longer give', async () => {
    const team = await newTeam()
    const inviter = await person(t)
    await add(team, inviter, 'owner')
    const cases: [Role, () => Promise<unknown>][] = [
      ['owner', () => ada.fetch('PATCH', `/api/teams/${team.id}/members/${inviter.userId}`, { role: 'admin' })],
      ['admin', () => ada.fetch('PATCH', `/api/teams/${team.id}/members/${inviter.userId}`, { role: 'member' })],
      ['member', () => t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.id, inviter.userId))],
      ['viewer', () => ada.fetch('DELETE', `/api/teams/${team.id}/members/${inviter.userId}`)],
    ]
    const receivers = await Promise.all(
      cases.map(async ([role]) => {
        const me = await person(t)
        await verify(me)
        const { body } = await send(team, me.email, role, inviter)
        return { me, id: body.id, token: await tokenFor(team, me.email) }
      }),
    )
    for (const [i, [, loseRight]] of cases.entries()) {
      const { me, id, token } = receivers[i] as (typeof receivers)[number]
      await ada.fetch('PATCH', `/api/teams/${team.id}/members/${inviter.userId}`, { role: 'owner' })
      await t.app.db.update(users).set({ status: 'active' }).where(eq(users.id, inviter.userId))
      expect((await preview(token)).status).toBe(200)
      await loseRight()
      await expectRefusal(t, await answer(me, id), 410, 'gone')
      await expectRefusal(t, await preview(token), 410, 'gone')
      expect((await rolesIn(team)).has(me.userId)).toBe(false)
    }
  })

  test('cannot join a team that was deleted', async () => {
    const team = await newTeam()
    const me = await person(t)
    await verify(me)
    const sent = await send(team, me.email)
    const token = await tokenFor(team, me.email)
    await ada.fetch('DELETE', `/api/teams/${team.id}`)
    await expectRefusal(t, await answer(me, token), 410, 'gone')
    await expectRefusal(t, await answer(me, sent.body.id), 404, 'not_found')
    await expectRefusal(t, await preview(token), 410, 'gone')
    expect((await me.fetch<InvitePage>('GET', '/api/invites')).body.items).toEqual([])
  })

  test('can accept within fourteen days', async () => {
    const clock = new TestClock()
    const own = watch(await testApp({}, clock.now))
    try {
      const boss = await person(own)
      const email = `${unique('late')}@example.com`
      await send({ id: boss.organizationId }, email, 'member', boss)
      const token = await tokenFor({ id: boss.organizationId }, email, own)
      clock.forward({ days: 13, minutes: 1439 })
      expect((await preview(token, own)).status).toBe(200)
      clock.forward({ minutes: 1 })
      await expectRefusal(own, await preview(token, own), 410, 'gone')
      const { status } = await call(own, 'POST', '/api/auth/register', {
        email,
        password: PASSWORD,
        name: 'Late',
        inviteToken: token,
      })
      expect(status).toBe(410)
    } finally {
      await own.close()
    }
  })
})
