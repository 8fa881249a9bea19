/**
 * Sends edits, or lets them wait in this tab for the connection. The code for waiting edits is loaded ahead, because it
 * cannot be loaded once the connection is gone.
 */
import { newIdempotencyKey } from '../api.ts'
import { loadWhenReachable } from '../lib/lazy.ts'
import { createStore } from '../lib/store.ts'
import { isUnreachable } from '../problem.ts'
import type { Attempt } from './waiting-edits.tsx'

type Code = typeof import('./code.ts')
/** Undefined until the code is loaded. */
export const waitingCode = createStore<Code | undefined>(undefined)

/** Until it is loaded, changes without a connection are refused. */
export function loadWaitingCode(): void {
  loadWhenReachable(() => import('./code.ts')).then(waitingCode.set, () => undefined)
}

/** Edits have to wait without a connection, and behind edits that wait. */
export const mustWait = (): boolean => waitingCode.get()?.mustWait() === true

/**
 * Sends an edit, or lets it wait for the connection. Returns undefined if it waits. `send` sets the version that it
 * sends. `wait` throws if it cannot wait.
 */
export async function sendOrWait<T>(
  send: (attempt: Attempt) => Promise<T>,
  wait: (code: Code, attempt: Attempt) => void,
  key = newIdempotencyKey(),
): Promise<T | undefined> {
  const attempt: Attempt = { key, wasSent: !mustWait() }
  if (attempt.wasSent) {
    try {
      return await send(attempt)
    } catch (error) {
      if (!waitingCode.get() || !isUnreachable(error)) throw error
    }
  }
  wait(waitingCode.get() as Code, attempt)
  return undefined
}

/** Lets an edit wait whose request got no response. Returns false if it cannot wait. */
export function waitAfter(error: unknown, wait: (code: Code, attempt: Attempt) => void): boolean {
  const code = waitingCode.get()
  if (!code || !isUnreachable(error)) return false
  wait(code, { key: newIdempotencyKey(), wasSent: true })
  return true
}
