import { beforeAll, describe, expect, test } from 'bun:test'
import type { PreferencesAnswer, User } from '../../src/features/users/schema.ts'
import { apiKey, call, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { bearer } from './accounts-support.ts'
import { expectEvent, expectRefusal, statuses, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

const read = async (who: Person) => (await who.fetch<PreferencesAnswer>('GET', '/api/settings/preferences')).body
const patch = (who: Person, body: object) => who.fetch<PreferencesAnswer>('PATCH', '/api/settings/preferences', body)
const newTeam = async (who: Person) =>
  (await who.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Team') })).body.id
const currentTeam = async (who: Person) => (await who.fetch<{ id: string }>('GET', '/api/team')).body.id

const rule = { inbox: true, mail: 'off', push: true } as const
const notifications: PreferencesAnswer['notifications'] = {
  email: true,
  rules: {
    question: rule,
    review: rule,
    mention: rule,
    assignment: rule,
    needs_you: rule,
    decision: rule,
    freed: rule,
    stalled: rule,
    invite: rule,
    admin: { ...rule, mail: 'now' },
    other: rule,
  },
  daily: { at: '08:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'], timezone: expect.any(String) },
  pausedUntil: null,
  sendsMail: false,
}
/** Without mail about announcements. */
const silent = { ...notifications, email: false, rules: { ...notifications.rules, admin: rule } }
const usual: PreferencesAnswer = {
  currentOrganizationId: null,
  theme: 'system',
  weekStart: 'monday',
  density: 'comfortable',
  presence: 'on',
  shortcuts: 'on',
  firstSteps: 'auto',
  favourites: [],
  notifications,
}

describe('preferences', () => {
  test('start with defaults, change one by one, and return to the default with null', async () => {
    const ada = await person(t)
    expect(await read(ada)).toEqual(usual)
    const changed = await patch(ada, { theme: 'dark', notifications: { email: false } })
    expect([changed.status, changed.body]).toEqual([200, { ...usual, theme: 'dark', notifications: silent }])
    const event = await expectEvent(t, changed, 'user.preferences_changed')
    expect(event).toMatchObject({ userId: ada.userId, data: { fields: ['theme', 'notifications'] } })
    expect((await patch(ada, { weekStart: 'sunday', density: 'compact', notifications: {} })).body).toEqual({
      ...usual,
      theme: 'dark',
      weekStart: 'sunday',
      density: 'compact',
      notifications: silent,
    })
    expect((await patch(ada, { theme: null, notifications: null, density: null, weekStart: null })).body).toEqual(usual)
    expect(await read(ada)).toEqual(usual)
    expect((await ada.fetch<User>('GET', '/api/auth/me')).body).toMatchObject({ preferences: {}, version: 4 })
  })

  test('switch shortcuts off, and list favourite projects by id', async () => {
    const ada = await person(t)
    const favourites = [Bun.randomUUIDv7()]
    const changed = { ...usual, shortcuts: 'off', favourites } as const
    expect((await patch(ada, { shortcuts: 'off', favourites })).body).toEqual(changed)
    expect((await patch(ada, { shortcuts: null, favourites: null })).body).toEqual(usual)
    await expectRefusal(t, await patch(ada, { favourites: ['lantern'] }), 422, 'invalid')
  })

  test('change each channel of a reason alone, and reset a reason with null', async () => {
    const ada = await person(t)
    const rulesAfter = async (rules: object | null) =>
      (await patch(ada, { notifications: { rules } })).body.notifications.rules
    await rulesAfter({ review: { mail: 'daily' }, mention: { inbox: false } })
    expect(await rulesAfter({ review: { push: false } })).toEqual({
      ...notifications.rules,
      review: { inbox: true, mail: 'daily', push: false },
      mention: { ...rule, inbox: false },
    })
    expect(await rulesAfter({ review: null })).toEqual({
      ...notifications.rules,
      mention: { ...rule, inbox: false },
    })
    expect(await rulesAfter(null)).toEqual(notifications.rules)
    await patch(ada, { notifications: { daily: { at: '17:30' } } })
    const { daily } = (await patch(ada, { notifications: { daily: { days: ['mon'] } } })).body.notifications
    expect(daily).toMatchObject({ at: '17:30', days: ['mon'] })
  })

  test('mail announcements by `email` and by their rule alike', async () => {
    const ada = await person(t)
    const after = async (change: object) => {
      const { email, rules } = (await patch(ada, { notifications: change })).body.notifications
      return [email, rules.admin.mail]
    }
    expect(await after({ rules: { admin: { mail: 'off' } } })).toEqual([false, 'off'])
    expect(await after({ email: true })).toEqual([true, 'now'])
    expect(await after({ rules: { admin: { mail: 'daily' } } })).toEqual([true, 'daily'])
    expect(await after({ email: false })).toEqual([false, 'off'])
    expect(await after({ rules: { admin: null } })).toEqual([true, 'now'])
  })

  test('keep the changes of several tabs made at once', async () => {
    const ada = await person(t)
    const answers = await Promise.all([
      patch(ada, { theme: 'light' }),
      patch(ada, { density: 'compact' }),
      patch(ada, { weekStart: 'sunday' }),
      patch(ada, { notifications: { email: false } }),
    ])
    expect(statuses(answers)).toEqual([200, 200, 200, 200])
    expect(await read(ada)).toEqual({
      ...usual,
      theme: 'light',
      density: 'compact',
      weekStart: 'sunday',
      notifications: silent,
    })
  })

  test.each([
    ['a text for a truth', { notifications: { email: 'yes' } }],
    ['an unknown notification', { notifications: { sms: true } }],
    ['an unknown reason', { notifications: { rules: { gossip: { inbox: true } } } }],
    ['an hour that does not exist', { notifications: { daily: { at: '24:00' } } }],
    ['a daily mail on no day', { notifications: { daily: { days: [] } } }],
  ])('refuse %s', async (_, body) => {
    const ada = await person(t)
    await expectRefusal(t, await patch(ada, body), 422, 'invalid')
    expect((await ada.fetch<User>('GET', '/api/auth/me')).body.version).toBe(1)
  })
})

describe('the current team', () => {
  test('applies to calls without X-Organization-Id, from the next call on', async () => {
    const ada = await person(t)
    const personal = await currentTeam(ada)
    const team = await newTeam(ada)
    expect(await currentTeam(ada)).toBe(personal)
    expect((await patch(ada, { currentOrganizationId: team })).body.currentOrganizationId).toBe(team)
    expect(await currentTeam(ada)).toBe(team)
    const key = bearer(await apiKey(t, ada))
    expect((await call<{ id: string }>(t, 'GET', '/api/team', undefined, key)).body.id).toBe(team)
    const named = await ada.fetch<{ id: string }>('GET', '/api/team', undefined, { 'x-organization-id': personal })
    expect(named.body.id).toBe(personal)
    expect((await patch(ada, { currentOrganizationId: null })).body.currentOrganizationId).toBeNull()
    expect(await currentTeam(ada)).toBe(personal)
  })

  test('must be one of the user’s own; another is answered as unknown, and the whole change is refused', async () => {
    const [ada, grace] = [await person(t), await person(t)]
    for (const id of [grace.organizationId, '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'])
      await expectRefusal(t, await patch(ada, { theme: 'dark', currentOrganizationId: id }), 404, 'not_found')
    expect(await read(ada)).toEqual(usual)
  })

  test('is not set any more once the user has left it', async () => {
    const owner = await person(t)
    const grace = await member(t, owner, 'member')
    const headless: Person = {
      ...grace,
      fetch: (m, p, b, h = {}) => call(t, m, p, b, { ...bearer(grace.token), ...h }),
    }
    expect((await patch(headless, { currentOrganizationId: owner.organizationId })).status).toBe(200)
    expect(await currentTeam(headless)).toBe(owner.organizationId)
    await owner.fetch('DELETE', `/api/teams/${owner.organizationId}/members/${grace.userId}`)
    expect((await read(headless)).currentOrganizationId).toBeNull()
    expect(await currentTeam(headless)).not.toBe(owner.organizationId)
  })
})

test('the profile has a second address', async () => {
  const ada = await person(t)
  const first = await ada.fetch<User>('PATCH', '/api/settings/profile', { bio: 'Numbers' }, { 'if-match': '"1"' })
  expect(first.body).toMatchObject({ bio: 'Numbers', version: 2 })
  await expectEvent(t, first, 'user.updated')
  expect((await ada.fetch('PATCH', '/api/settings/profile', { bio: 'late' }, { 'if-match': '"1"' })).status).toBe(412)
  await expectRefusal(t, await ada.fetch('PATCH', '/api/settings/profile', { role: 'admin' }), 422, 'invalid')
})
