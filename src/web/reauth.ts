/**
 * Some changes need a fresh proof that it is the person themselves. The call waits while the frame asks for it, and is
 * then sent again; whoever declines gets the refusal.
 */
import { store } from './store.ts'

interface Question {
  /** What needs the proof, as the server says it. */
  detail: string
  answer(confirmed: boolean): void
}

const asked = store<Question | undefined>(undefined)
export const useQuestion = asked.use

let asking: Promise<boolean> | undefined

/** Resolves to true once the person has proved who they are. Calls that ask at the same time share one question. */
export function confirmIdentity(detail: string): Promise<boolean> {
  asking ??= new Promise<boolean>((answer) => asked.set({ detail, answer })).finally(() => {
    asking = undefined
    asked.set(undefined)
  })
  return asking
}
