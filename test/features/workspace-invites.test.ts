import { describe, expect, test } from 'bun:test'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type {
  WorkspaceInvite,
  WorkspaceInviteDetail,
  WorkspaceInvitePage,
  WorkspaceInviteSent,
} from '../../src/features/workspaces/invite-schema.ts'
import type { WorkspaceTeam } from '../../src/features/workspaces/schema.ts'
import { call, type Person, person, unique } from '../support/app.ts'
import { keptMail, mailRows } from '../support/mail.ts'
import { ada, fullTeam, get, join, make, newTeam, people, t } from './spaces.ts'
import { expectEvents, expectRefusal, ids, statuses, times } from './support.ts'

const invite = (who: Person, space: { id: string }, email: string, role: WorkspaceTeam['role'] = 'editor') =>
  who.fetch<WorkspaceInviteSent>('POST', `/api/workspaces/${space.id}/invites`, { email, role })
const list = (who: Person, space: { id: string }, query = '') =>
  who.fetch<WorkspaceInvitePage>('GET', `/api/workspaces/${space.id}/invites${query}`)
const cancel = (who: Person, space: { id: string }, { id }: { id: string }) =>
  who.fetch('DELETE', `/api/workspaces/${space.id}/invites/${id}`)
const read = (who: Person, { id }: { id: string }) =>
  who.fetch<WorkspaceInviteDetail>('GET', `/api/workspace-invites/${id}`)
const accept = (who: Person, { id }: { id: string }, team: { id: string }) =>
  who.fetch<WorkspaceTeam>('POST', `/api/workspace-invites/${id}/accept`, { teamId: team.id })
const decline = (who: Person, { id }: { id: string }) => who.fetch('POST', `/api/workspace-invites/${id}/decline`)
const mine = async (who: Person) =>
  ids((await who.fetch<WorkspaceInvitePage>('GET', '/api/workspace-invites?total=true')).body)
const inbox = async (who: Person) =>
  (await who.fetch<NotificationPage>('GET', '/api/notifications?view=needs')).body.items.filter(
    ({ reason }) => reason === 'invite',
  )
const statusOf = async (who: Person, space: { id: string }, { id }: { id: string }) => {
  for (const status of ['pending', 'accepted', 'declined', 'cancelled', 'expired'] as const)
    if (ids((await list(who, space, `?status=${status}`)).body).includes(id)) return status
}

/** Somebody who shares no team with Ada, administers one of their own, and has confirmed their address. */
async function outsider(name = 'Joan Clarke') {
  const who = await person(t, { name })
  await t.app.driver.query('update users set email_verified_at = now() where id = $1', [who.userId])
  const team = (await who.fetch<Organization>('POST', '/api/teams', { name: unique('looms') })).body
  return { who, team }
}

/** A workspace of Ada's and an invitation of an outsider to it. */
async function invited(role?: WorkspaceTeam['role']) {
  const [team, joan] = [await fullTeam(), await outsider()]
  const space = await make(team)
  const sent = await invite(people.admin, space, joan.who.email, role)
  expect(sent.status).toBe(201)
  return { ...joan, owner: team, space, sent }
}

describe('POST /api/workspaces/:id/invites', () => {
  test('invites a person of another team, who finds it in their inbox and in a mail', async () => {
    const { who, space, owner, sent } = await invited('viewer')
    expect(sent.headers.get('location')).toBe(`/api/workspaces/${space.id}/invites/${sent.body.id}`)
    expect(sent.body).toMatchObject({
      workspace: { id: space.id, name: space.name, organization: { id: owner.id, name: owner.name } },
      email: who.email,
      role: 'viewer',
      status: 'pending',
      invitedBy: { id: people.admin.userId },
      team: null,
      mailed: false,
      link: `${t.app.url}/workspace-invites/${sent.body.id}`,
    })
    const [, event] = await expectEvents(t, sent, 'notification.created', 'workspace_invite.created')
    expect(event).toMatchObject({ organizationId: owner.id, data: { name: space.name, email: who.email } })
    expect(await inbox(who)).toMatchObject([
      { link: `/workspace-invites/${sent.body.id}`, subject: { kind: 'workspace_invite', title: space.name } },
    ])
    const mail = await keptMail(t, who.email, `workspace-invite:${space.id}`)
    expect(mail.text).toContain(`/workspace-invites/${sent.body.id}`)
    expect(ids((await list(people.admin, space)).body)).toEqual([sent.body.id])
    expect(await mine(who)).toEqual([sent.body.id])
  })

  test('answers alike for an address without an account, and for one that is not confirmed', async () => {
    const space = await make(await newTeam())
    const unconfirmed = await person(t)
    const known = (await outsider()).who.email
    const bodies: unknown[] = []
    for (const email of [known, unconfirmed.email, `${unique('nobody')}@example.com`]) {
      const { status, body } = await invite(ada, space, email)
      const { id: _, email: __, link: ___, createdAt: ____, updatedAt: _____, expiresAt: ______, ...rest } = body
      bodies.push([status, rest])
      const mails = (await mailRows(t, email)).filter(({ kind }) => kind === `workspace-invite:${space.id}`)
      expect(mails).toHaveLength(1)
    }
    expect(bodies[1]).toEqual(bodies[0])
    expect(bodies[2]).toEqual(bodies[0])
    expect([await inbox(unconfirmed), await mine(unconfirmed)]).toEqual([[], []])
  })

  test('is for admins of the owning team, while the workspace is active', async () => {
    const [team, { who }] = [await fullTeam(), await outsider()]
    const space = await make(team)
    for (const role of ['viewer', 'member'] as const) {
      await expectRefusal(t, await invite(people[role], space, who.email), 403, 'forbidden')
      expect((await list(people[role], space)).status).toBe(200)
    }
    await expectRefusal(t, await invite(who, space, who.email), 404, 'not_found')
    await expectRefusal(t, await list(who, space), 404, 'not_found')
    await expectRefusal(t, await invite(ada, space, ada.email), 409, 'conflict')
    await ada.fetch('PATCH', `/api/workspaces/${space.id}`, { status: 'archived' })
    await expectRefusal(t, await invite(ada, space, who.email), 409, 'conflict')
  })

  test('renews a pending invitation to the same address', async () => {
    const { who, space, sent } = await invited('viewer')
    const again = await invite(ada, space, who.email.toUpperCase(), 'editor')
    expect(again.body).toMatchObject({ id: sent.body.id, role: 'editor', version: 2, invitedBy: { id: ada.userId } })
    await expectEvents(t, again, 'notification.created', 'workspace_invite.renewed')
    expect(await inbox(who)).toHaveLength(1)
    const all = await Promise.all(times(4, () => invite(ada, space, `new-${who.email}`)))
    expect(new Set(all.map(({ body }) => body.id)).size).toBe(1)
  })
})

describe('POST /api/workspace-invites/:id/accept', () => {
  test('adds a team of the invited person to the workspace', async () => {
    const { who, team, space, owner, sent } = await invited()
    expect((await read(who, sent.body)).body).toMatchObject({
      status: 'pending',
      can: { accept: true, decline: true },
      teams: expect.arrayContaining([{ id: team.id, name: team.name }]),
    })
    await expectRefusal(t, await get(who, space), 404, 'not_found')
    const joined = await accept(who, sent.body, team)
    expect(joined.body).toEqual({ id: team.id, name: team.name, role: 'editor' })
    const fired = await expectEvents(
      t,
      joined,
      'workspace_invite.accepted',
      'workspace.shared',
      'workspace.shared',
      'notification.created',
    )
    expect(fired.map((e) => e.organizationId).sort()).toEqual([owner.id, owner.id, team.id, null].sort())
    expect((await get(who, space)).body).toMatchObject({ role: 'member', counts: { teams: 2 } })
    expect(await statusOf(ada, space, sent.body)).toBe('accepted')
    // The addresses of those who were invited are for the owning team only.
    await expectRefusal(t, await list(who, space), 403, 'forbidden')
    expect((await list(ada, space, '?status=accepted')).body.items).toMatchObject([
      { team: { id: team.id, name: team.name } },
    ])
    expect([await inbox(who), await mine(who)]).toEqual([[], []])
    const told = (await people.admin.fetch<NotificationPage>('GET', '/api/notifications?limit=1')).body.items
    expect(told).toMatchObject([{ title: `${team.name} joined the workspace ${space.name}`, reason: 'workspace' }])
  })

  test('needs a team that the caller administers and that is not in the workspace', async () => {
    const { who, team, space, owner, sent } = await invited()
    const other = await newTeam()
    await join(other, who, 'member')
    for (const wrong of [other, owner, { id: Bun.randomUUIDv7() }])
      await expectRefusal(t, await accept(who, sent.body, wrong), 404, 'not_found')
    expect((await accept(who, sent.body, team)).status).toBe(200)
    const again = await invite(ada, space, who.email)
    expect((await read(who, again.body)).body.teams).not.toContainEqual({ id: team.id, name: team.name })
    await expectRefusal(t, await accept(who, again.body, team), 409, 'conflict.exists')
  })

  test('returns 404 for an invitation to someone else', async () => {
    const { sent } = await invited()
    const { who, team } = await outsider('Mallory')
    const unconfirmed = await person(t)
    for (const other of [who, unconfirmed, ada]) {
      await expectRefusal(t, await read(other, sent.body), 404, 'not_found')
      await expectRefusal(t, await accept(other, sent.body, team), 404, 'not_found')
      await expectRefusal(t, await decline(other, sent.body), 404, 'not_found')
    }
    await expectRefusal(t, await call(t, 'GET', `/api/workspace-invites/${sent.body.id}`), 401, 'unauthenticated')
  })

  test('works once: of many simultaneous answers one succeeds', async () => {
    const { who, team, space, sent } = await invited()
    const second = (await who.fetch<Organization>('POST', '/api/teams', { name: unique('looms') })).body
    const answers = await Promise.all([
      accept(who, sent.body, team),
      accept(who, sent.body, second),
      decline(who, sent.body),
      cancel(ada, space, sent.body),
    ])
    expect(statuses(answers).filter((status) => status === 200)).toHaveLength(1)
    expect(statuses(answers).filter((status) => ![200, 404, 410].includes(status))).toEqual([])
    await expectRefusal(t, await accept(who, sent.body, second), 410, 'gone')
  })

  test('is refused after the invitation expired, or its inviter lost the right to send it', async () => {
    const { who, team, space, owner, sent } = await invited()
    const path = `/api/teams/${owner.id}/members/${people.admin.userId}`
    expect((await ada.fetch('PATCH', path, { role: 'member' })).status).toBe(200)
    expect((await read(who, sent.body)).body.can).toMatchObject({ accept: { code: 'gone' } })
    await expectRefusal(t, await accept(who, sent.body, team), 410, 'gone')
    const late = await invite(ada, space, who.email)
    await t.app.driver.query("update workspace_invites set expires_at = now() - interval '1 minute' where id = $1", [
      late.body.id,
    ])
    expect(await statusOf(ada, space, late.body)).toBe('expired')
    expect((await read(who, late.body)).body).toMatchObject({ status: 'expired', can: { decline: { code: 'gone' } } })
    await expectRefusal(t, await accept(who, late.body, team), 410, 'gone')
    expect(await mine(who)).toEqual([])
    expect((await invite(ada, space, who.email)).body).toMatchObject({ id: late.body.id, status: 'pending' })
  })

  test('is refused while the workspace is archived', async () => {
    const { who, team, space, sent } = await invited()
    const set = (status: string) => ada.fetch('PATCH', `/api/workspaces/${space.id}`, { status })
    await set('archived')
    expect((await read(who, sent.body)).body.can).toMatchObject({ accept: { code: 'conflict' }, decline: true })
    await expectRefusal(t, await accept(who, sent.body, team), 409, 'conflict')
    await set('active')
    expect((await accept(who, sent.body, team)).status).toBe(200)
  })
})

describe('an invitation to a workspace', () => {
  test('that is declined adds no team and notifies the inviter', async () => {
    const { who, team, space, sent } = await invited()
    const answer = await decline(who, sent.body)
    expect(answer.body).toEqual({ id: sent.body.id, declined: true })
    await expectEvents(t, answer, 'workspace_invite.declined', 'notification.created')
    expect(await statusOf(ada, space, sent.body)).toBe('declined')
    await expectRefusal(t, await accept(who, sent.body, team), 410, 'gone')
    await expectRefusal(t, await get(who, space), 404, 'not_found')
    expect(await inbox(who)).toEqual([])
  })

  test('is cancelled by an admin of the owning team, and with its workspace', async () => {
    const { who, team, space, sent } = await invited()
    await expectRefusal(t, await cancel(people.member, space, sent.body), 403, 'forbidden')
    await expectRefusal(t, await cancel(ada, await make(await newTeam()), sent.body), 404, 'not_found')
    const gone = await cancel(ada, space, sent.body)
    expect(gone.body).toEqual({ id: sent.body.id, deleted: true })
    await expectEvents(t, gone, 'workspace_invite.cancelled')
    expect(await statusOf(ada, space, sent.body)).toBe('cancelled')
    await expectRefusal(t, await accept(who, sent.body, team), 410, 'gone')
    await expectRefusal(t, await cancel(ada, space, sent.body), 404, 'not_found')
    const again = await invite(ada, space, who.email)
    expect(await inbox(who)).toHaveLength(1)
    await ada.fetch('DELETE', `/api/workspaces/${space.id}`)
    expect(await inbox(who)).toEqual([])
    await expectRefusal(t, await accept(who, again.body, team), 404, 'not_found')
    const { rows } = await t.app.driver.query('select status from workspace_invites where id = $1', [again.body.id])
    expect(rows).toEqual([['cancelled']])
  })

  test('is suggested by the error of POST /api/workspaces/:id/teams for a team of others', async () => {
    const [space, { team }] = [await make(await newTeam()), await outsider()]
    const body = { teamId: team.id, role: 'editor' }
    const refused = await ada.fetch<WorkspaceInvite>('POST', `/api/workspaces/${space.id}/teams`, body)
    await expectRefusal(t, refused, 404, 'not_found')
    expect(refused.body).toMatchObject({ next: [{ route: `POST /api/workspaces/${space.id}/invites` }] })
  })
})
