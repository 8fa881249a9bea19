/** What happens in a tab with waiting edits when the session ends. The code for waiting edits says it when loaded. */
type Ask = (address: string) => boolean

let ask: Ask = () => false
export const setSignInElsewhere = (next: Ask): void => {
  ask = next
}

/** Asks to sign in in another tab. Returns false if leaving this page loses no edits. */
export const signInElsewhere: Ask = (address) => ask(address)
