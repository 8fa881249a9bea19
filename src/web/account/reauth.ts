/**
 * Some changes need a recent confirmation of the identity. The request waits while a dialog asks for it, and is then
 * sent again. If the user declines, the request fails.
 */
import { createStore } from '../lib/store.ts'

interface ReauthRequest {
  /** The server's text: which change needs the confirmation. */
  detail: string
  answer(confirmed: boolean): void
}

const asked = createStore<ReauthRequest | undefined>(undefined)
export const useReauthRequest = asked.use

let asking: Promise<boolean> | undefined

/** Resolves to true once the identity is confirmed. Requests at the same time share one dialog. */
export function confirmIdentity(detail: string): Promise<boolean> {
  asking ??= new Promise<boolean>((answer) => asked.set({ detail, answer })).finally(() => {
    asking = undefined
    asked.set(undefined)
  })
  return asking
}
