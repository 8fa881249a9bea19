/**
 * An administrator acts as somebody else: calls of this tab carry a token of that person until it expires or is given
 * back. It is kept in memory only, so that reloading the page ends it.
 */
import { store } from './store.ts'

export interface Acting {
  token: string
  expiresAt: string
  name: string
}

const acting = store<Acting | undefined>(undefined)
export const useActing = acting.use
export const actingToken = (): string | undefined => acting.get()?.token
export const actAs = (person: Acting): void => acting.set(person)

/** Gives the token back. Without cookies, so that the administrator's own session stays. */
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
