import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { write } from '../../src/action.ts'
import { anyone } from '../../src/auth/policy.ts'
import type { AppError } from '../../src/errors.ts'
import { confirmMailbox } from '../../src/features/accounts/confirm-account.ts'
import { changeEmail } from '../../src/features/accounts/emails.ts'
import { changePassword } from '../../src/features/accounts/passwords.ts'
import * as devices from '../../src/features/devices/service.ts'
import type { IntegrationPage } from '../../src/features/integrations/schema.ts'
import type { MemberPage } from '../../src/features/organizations/schema.ts'
import type { User } from '../../src/features/users/schema.ts'
import { users } from '../../src/features/users/table.ts'
import { anyoneCtx, call, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import {
  answerAsked,
  askByCode,
  bearer,
  linkTo,
  NEW_PASSWORD,
  newAddress,
  post,
  provedPerson,
  resetLink,
  userRow,
} from './accounts-support.ts'
import { failure, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

/** As the one who has the mailbox, and did not create the account. */
async function enterByCode(email: string): Promise<Person['fetch']> {
  const { body } = await answerAsked(t, await askByCode(t, { email }), { remove: true })
  return (method, path, input, headers = {}) => call(t, method, path, input, { ...bearer(body.token), ...headers })
}

describe('an account that a stranger registered with another person’s address', () => {
  test('sends its creator no more messages once the mailbox owner has confirmed the address', async () => {
    const eve = await person(t)
    const hook = { secret: 'https://evil.example/hook' }
    expect((await eve.fetch('PUT', '/api/settings/integrations/user/webhook', hook)).status).toBe(200)
    const victim = await enterByCode(eve.email)
    expect((await victim<IntegrationPage>('GET', '/api/settings/integrations/user')).body.items).toEqual([])
  })

  test('loses every member, invitation and team that its creator chose', async () => {
    const [eve, mate] = [await person(t), await person(t)]
    const home = eve.organizationId
    const invite = async (email: string) => {
      expect((await eve.fetch('POST', `/api/teams/${home}/invite`, { email, role: 'owner' })).status).toBe(201)
      return linkTo(t, email, `invite:${home}`)
    }
    const late = await person(t)
    const waiting = await invite(late.email)
    expect((await mate.fetch('POST', `/api/invites/${await invite(mate.email)}/accept`)).status).toBe(200)
    expect((await mate.fetch('PATCH', `/api/teams/${home}/members/${eve.userId}`, { role: 'viewer' })).status).toBe(200)
    const trap = await eve.fetch<{ id: string }>('POST', '/api/teams', { name: 'Trap' })
    await eve.fetch('PATCH', '/api/settings/preferences', { currentOrganizationId: trap.body.id })

    const victim = await enterByCode(eve.email)
    expect((await victim<{ id: string }>('GET', '/api/team')).body.id).toBe(home)
    const { body } = await victim<MemberPage>('GET', `/api/teams/${home}/members`)
    expect(body.items.map((m) => [m.id, m.role])).toEqual([[eve.userId, 'owner']])
    expect((await mate.fetch('GET', `/api/teams/${home}`)).status).toBe(404)
    expect((await late.fetch('POST', `/api/invites/${waiting}/accept`)).status).toBe(410)
  })

  test('is not handed over if it moves to another address at the same moment', async () => {
    const eve = await person(t)
    const before = (await userRow(t, eve.userId)) as User
    await t.app.db
      .update(users)
      .set({ email: newAddress(), emailVerifiedAt: new Date().toISOString() })
      .where(eq(users.id, eve.userId))
    const how = { via: 'code' as const, browser: 'any' }
    const prove = write('test.prove', anyone, (ctx, user: User) => confirmMailbox(ctx, user, how))
    expect(((await failure(prove(anyoneCtx(t), before))) as AppError).code).toBe('conflict')
    expect((await userRow(t, eve.userId))?.passwordHash).toBeString()
  })
})

describe('a session that ended during its request', () => {
  /** Let in before, and carried out after the owner has taken the account back. */
  const stale = async (who: Person) => {
    const ctx = await who.ctx()
    expect(
      (await post(t, 'reset-password', { token: await resetLink(t, who.email), password: NEW_PASSWORD })).status,
    ).toBe(200)
    return ctx
  }
  const refused = async (work: Promise<unknown>) =>
    expect(((await failure(work)) as AppError).code).toBe('unauthenticated')

  test('cannot approve a device', async () => {
    const ada = await provedPerson(t)
    const { deviceCode, userCode } = await devices.request(anyoneCtx(t), { clientName: 'of a thief' })
    await refused(devices.approve(await stale(ada), { userCode }))
    expect((await post(t, 'device/poll', { deviceCode })).body.error).toBe('authorization_pending')
  })

  test('cannot start a change of address', async () => {
    await refused(changeEmail(await stale(await provedPerson(t)), { email: newAddress() }))
  })

  test('cannot set a first password', async () => {
    const ada = await provedPerson(t)
    const ctx = await stale(ada)
    await t.app.db.update(users).set({ passwordHash: null }).where(eq(users.id, ada.userId))
    await refused(changePassword(ctx, { newPassword: 'eight quiet lamps at dawn' }))
    expect((await userRow(t, ada.userId))?.passwordHash).toBeNull()
  })
})
