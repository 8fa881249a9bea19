import { describe, expect, test } from 'bun:test'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { Provider } from '../../src/features/oauth/schema.ts'
import { apiKey, call, PASSWORD, type Person, person, testApp } from '../support/app.ts'
import { keptMail } from '../support/mail.ts'
import {
  at,
  bearer,
  type Came,
  come,
  connected,
  type How,
  link,
  page,
  prove,
  settings,
  somebody,
  t,
} from './oauth-support.ts'
import { expectEvents, expectRefusal, statuses, TestClock, times, watch } from './support.ts'

/** Waits until a statement that contains this text waits for a lock. The embedded database runs one at a time anyway. */
async function waitsFor(text: string): Promise<void> {
  if (t.app.driver.kind !== 'postgres') return
  const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like $1`
  while ((await t.app.driver.query(waits, [`%${text}%`])).rows.length === 0);
}

/** Brings each to the provider, one after the other, and all back at the same moment. */
async function together(...starts: ((meanwhile: () => Promise<unknown>) => Promise<Came>)[]): Promise<Came[]> {
  const back = Promise.withResolvers<void>()
  const coming: Promise<Came>[] = []
  for (const start of starts) {
    const there = Promise.withResolvers<void>()
    coming.push(
      start(() => {
        there.resolve()
        return back.promise
      }),
    )
    await there.promise
  }
  back.resolve()
  return Promise.all(coming)
}

describe('of two simultaneous requests', () => {
  test('to connect one identity to two accounts, one succeeds', async () => {
    for (const _ of times(4, () => 0)) {
      const [people, identity] = [[await person(t), await person(t)], somebody()]
      const answers = await together(
        ...people.map(
          (who) => (meanwhile: How['meanwhile']) => link(who, 'oidc', identity, { accept: page, meanwhile }),
        ),
      )
      const refused = '/settings/accounts#error=conflict.exists'
      expect(answers.map(({ location }) => location).sort()).toEqual(['/settings/accounts', refused])
      const found = await Promise.all(people.map(({ token }) => connected(token)))
      expect(found.flat()).toHaveLength(1)
    }
  })

  test('to connect two identities of one provider to an account, one succeeds', async () => {
    const ada = await person(t)
    const answers = await together(
      (meanwhile) => link(ada, 'github', somebody(), { accept: page, meanwhile }),
      (meanwhile) => link(ada, 'github', somebody(), { accept: page, meanwhile }),
    )
    expect(answers.map(({ location }) => location).sort()).toEqual([
      '/settings/accounts',
      '/settings/accounts#error=conflict.exists',
    ])
    expect(await connected(ada.token)).toHaveLength(1)
  })

  test('to register with an identity and to connect it, one account gets it', async () => {
    for (const _ of times(4, () => 0)) {
      const [ada, identity] = [await person(t), somebody()]
      const [entered, linked] = (await together(
        (meanwhile) => come('oidc', identity, { meanwhile }),
        (meanwhile) => link(ada, 'oidc', identity, { accept: page, meanwhile }),
      )) as [Came, Came]
      const isLinked = linked.location === '/settings/accounts'
      expect([entered.status, entered.body.user.id === ada.userId]).toEqual([200, isLinked])
      expect(await connected(ada.token)).toHaveLength(isLinked ? 1 : 0)
    }
  })

  test('to sign in with an identity and to remove it with all access, neither leaves a session', async () => {
    const [ada, identity] = [await person(t), somebody()]
    await link(ada, 'oidc', identity)
    // In the order of a proof of the mailbox: the account first, then its identities and sessions.
    const tx = await t.app.driver.begin()
    await tx.query('update users set version = version + 1 where id = $1', [ada.userId])
    await tx.query('delete from connected_accounts where user_id = $1', [ada.userId])
    const entering = come('oidc', identity)
    await waitsFor('update "connected_accounts"')
    await tx.query('update login_sessions set revoked_at = now() where user_id = $1', [ada.userId])
    await tx.commit([])
    expect((await entering).body.user?.id).not.toBe(ada.userId)
    const live = 'select 1 from login_sessions where user_id = $1 and revoked_at is null'
    expect((await t.app.driver.query(live, [ada.userId])).rows).toEqual([])
  })
})

describe('connecting an identity to one’s account', () => {
  test('is possible for a signed-in user, who is notified and can then sign in with it', async () => {
    const ada = await person(t)
    await prove(ada.userId)
    const elsewhere = somebody({ verified: false })
    const answer = await link(ada, 'github', elsewhere)
    expect([answer.status, answer.location]).toEqual([302, '/settings/accounts'])
    expect(answer.headers.getSetCookie().filter((c) => /tutti_(access|refresh)/.test(c))).toEqual([])
    await expectEvents(t, answer, 'connected_account.created', 'notification.created')
    const [account] = await connected(ada.token)
    expect(Object.keys(account as object).sort()).toEqual([
      'avatarUrl',
      'createdAt',
      'email',
      'id',
      'name',
      'provider',
      'updatedAt',
      'version',
    ])
    expect(account).toMatchObject({
      provider: 'github',
      email: elsewhere.email,
      avatarUrl: 'https://avatars.example/1',
    })
    expect((await keptMail(t, ada.email, 'new_way_in')).text).toContain('GitHub')
    expect((await come('github', elsewhere)).body.user.id).toBe(ada.userId)
    expect((await link(ada, 'github', elsewhere)).location).toBe('/settings/accounts')
    expect(await connected(ada.token)).toHaveLength(1)
  })

  test('requires a person who is signed in, confirmed their identity and started in this session', async () => {
    const clock = new TestClock()
    const own = watch(await testApp(settings, clock.now))
    const ada = await person(own)
    const start = async (headers: Record<string, string>) => {
      const response = await fetch(`${own.url}/api/auth/oauth/github?link=1`, { headers, redirect: 'manual' })
      const body = (response.status === 302 ? {} : await response.json()) as Record<string, unknown>
      return { status: response.status, headers: response.headers, body, location: response.headers.get('location') }
    }
    await expectRefusal(own, await start({}), 401, 'unauthenticated')
    await expectRefusal(own, await start(bearer(await apiKey(own, ada))), 403, 'forbidden')
    for (const site of ['cross-site', 'same-site'])
      await expectRefusal(own, await start({ ...bearer(ada.token), 'sec-fetch-site': site }), 403, 'forbidden.origin')
    for (const site of ['same-origin', 'none'])
      expect((await start({ ...bearer(ada.token), 'sec-fetch-site': site })).status).toBe(302)
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(own, await start(bearer(ada.token)), 403, 'forbidden.reauth')
    expect((await start({ ...bearer(ada.token), ...page })).location).toBe(
      '/login?next=%2Fsettings%2Faccounts#error=forbidden.reauth',
    )
    await own.close()
  })

  test('fails if the session that requested it ends meanwhile', async () => {
    const ada = await person(t)
    const ended = await link(ada, 'github', somebody(), { meanwhile: () => ada.fetch('POST', '/api/auth/logout') })
    expect([ended.status, ended.body.code]).toEqual([401, 'unauthenticated'])
    const { token } = (await call<SignedIn>(t, 'POST', '/api/auth/login', { email: ada.email, password: PASSWORD }))
      .body
    expect(await connected(token)).toEqual([])
  })

  test('is refused for an identity of another account, and for a second one of the same provider', async () => {
    const [ada, grace] = [await person(t), await person(t)]
    const [one, two] = [somebody(), somebody()]
    expect((await link(ada, 'github', one)).location).toBe('/settings/accounts')
    const taken = await link(grace, 'github', one)
    expect([taken.status, taken.body.code]).toEqual([409, 'conflict.exists'])
    expect(taken.body.detail).toContain('connected to another account')
    expect((await link(grace, 'github', one, { accept: page })).location).toBe(
      '/settings/accounts#error=conflict.exists',
    )
    const second = await link(ada, 'github', two)
    expect([second.status, second.body.code]).toEqual([409, 'conflict.exists'])
    expect(await connected(ada.token)).toMatchObject([{ email: one.email }])
    expect(await connected(grace.token)).toEqual([])
    const both = await Promise.all([link(ada, 'google', two), link(grace, 'google', two)])
    expect(statuses(both)).toEqual([302, 409])
  })
})

describe('disconnecting an identity', () => {
  test('is for the owner, after a recent confirmation of identity', async () => {
    const clock = new TestClock()
    const own = watch(await testApp(settings, clock.now))
    const [ada, grace] = [await person(own), await person(own)]
    const who = somebody()
    await link(ada, 'github', who, { app: own })
    const path = '/api/settings/connected-accounts/github'
    await expectRefusal(own, await grace.fetch('DELETE', path), 404, 'not_found')
    await expectRefusal(own, await ada.fetch('DELETE', '/api/settings/connected-accounts/evil'), 422, 'invalid')
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(own, await ada.fetch('DELETE', path), 403, 'forbidden.reauth')
    const { token } = (await come('github', who, { app: own })).body
    const gone = await call(own, 'DELETE', path, undefined, bearer(token))
    expect(gone.body).toEqual({ id: expect.any(String), deleted: true })
    await expectEvents(own, gone, 'connected_account.deleted')
    await expectRefusal(own, await call(own, 'DELETE', path, undefined, bearer(token)), 404, 'not_found')
    await own.close()
  })

  test('is refused for the last way to sign in', async () => {
    const { token } = (await come('google', somebody({ verified: false }))).body
    const who = { token } as Person
    const remove = (provider: Provider, app = t) =>
      call(app, 'DELETE', `/api/settings/connected-accounts/${provider}`, undefined, bearer(token))
    await expectRefusal(t, await remove('google'), 409, 'conflict.last_way')
    await link(who, 'github', somebody())
    // A provider that is not set up any more lets nobody in.
    const without = watch(await testApp({ ...at.google.settings, background: 'off' }))
    await expectRefusal(without, await remove('google', without), 409, 'conflict.last_way')
    await without.close()
    const both = await Promise.all([remove('google'), remove('github')])
    expect(statuses(both)).toEqual([200, 409])
    expect(await connected(token)).toHaveLength(1)
  })
})
