/**
 * Impersonation: while an administrator acts as a user, the requests of this tab carry a token of that user. The token
 * is kept in memory only, so reloading the page ends the impersonation.
 */
import { store } from './store.ts'

interface Acting {
  token: string
  expiresAt: string
  name: string
}

const acting = store<Acting | undefined>(undefined)
export const useActing = acting.use
export const actingToken = (): string | undefined => acting.get()?.token
export const actAs = (person: Acting): void => acting.set(person)

/** Revokes the token. The request has no cookies, so that the administrator's own session stays. */
export async function stopActing(): Promise<void> {
  const token = actingToken()
  acting.set(undefined)
  await fetch('/api/auth/logout', {
    method: 'POST',
    credentials: 'omit',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
}
