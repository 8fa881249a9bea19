/**
 * Impersonation: while an administrator acts as a user, the requests of this tab carry a token of that user. The token
 * is kept in memory only, so reloading the page ends the impersonation.
 */
import { createStore } from '../lib/store.ts'

interface ImpersonatedUser {
  token: string
  expiresAt: string
  name: string
}

const acting = createStore<ImpersonatedUser | undefined>(undefined)
export const useImpersonatedUser = acting.use
export const impersonationToken = (): string | undefined => acting.get()?.token
export const startImpersonation = (person: ImpersonatedUser): void => acting.set(person)

/** Revokes the token. The request has no cookies, so that the administrator's own session stays. */
export async function stopImpersonation(): Promise<void> {
  const token = impersonationToken()
  acting.set(undefined)
  await fetch('/api/auth/logout', {
    method: 'POST',
    credentials: 'omit',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
}
