import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { Passkey } from '../../src/features/passkeys/schema.ts'
import { users } from '../../src/features/users/table.ts'
import { type Answer, call, type Person, person, sharedApp } from '../support/app.ts'
import { Authenticator, type Wrong } from '../support/authenticator.ts'
import { watch } from './support.ts'

export interface Begun {
  sessionId: string
  options: Record<string, unknown> & { challenge: string; rp: { id: string }; user: { id: string; name: string } }
}

export const t = watch(await sharedApp())

export const authenticator = (at = t, steps?: number) => new Authenticator(at.app.url, steps)
export const begin = async (who: Person) =>
  (await who.fetch<Begun>('POST', '/api/auth/passkey/register/begin', {})).body
export const finish = (who: Person, body: object) =>
  who.fetch<Passkey>('POST', '/api/auth/passkey/register/finish', body)
export const beginLogin = async (at = t, body = {}) =>
  (await call<Begun>(at, 'POST', '/api/auth/passkey/authenticate/begin', body)).body
export const finishLogin = (body: object, at = t) =>
  call<SignedIn>(at, 'POST', '/api/auth/passkey/authenticate/finish', body)

export async function add(who: Person, key: Authenticator, name = 'laptop'): Promise<Answer<Passkey>> {
  const { sessionId, options } = await begin(who)
  return finish(who, { sessionId, name, response: key.create(options) })
}
export async function signIn(key: Authenticator, wrong: Wrong = {}, at = t): Promise<Answer<SignedIn>> {
  const { sessionId, options } = await beginLogin(at)
  return finishLogin({ sessionId, response: key.get(options, wrong) }, at)
}
/** Somebody with one passkey. */
export async function holder(at = t): Promise<{ who: Person; key: Authenticator; passkey: Passkey }> {
  const who = await person(at)
  const key = authenticator(at)
  return { who, key, passkey: (await add(who, key)).body }
}
export const prove = (who: Person) =>
  t.app.db.update(users).set({ emailVerifiedAt: new Date().toISOString() }).where(eq(users.id, who.userId))
export const notices = async (who: Person) =>
  (
    await t.app.driver.query('select reason, title, message from notifications where user_id = $1 order by id', [
      who.userId,
    ])
  ).rows
