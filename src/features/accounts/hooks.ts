import { hook } from '../../hooks.ts'
import type { User } from '../users/schema.ts'

/** Hooks by which higher features take part in changes of accounts. All run in the caller's transaction. */

/** Returns that the token lets this address register although registration is closed; otherwise a handler throws. */
export const mayRegister = hook<{ email: string; inviteToken: string }, { provesMailbox: boolean }>(
  'accounts.mayRegister',
)

/** Called after an account was created with an invite token. */
export const onRegistered = hook<{ user: User; inviteToken: string }>('accounts.onRegistered')

/** Returns the number of usable sign-in methods of the user, besides the password and the mailbox. */
export const countSignInMethods = hook<{ userId: string }, number>('accounts.countSignInMethods')

/** Removes the sign-in methods that work without the password. */
export const removeSignInMethods = hook<{ userId: string }>('accounts.removeSignInMethods')

/** Revokes credentials of the user's programs and devices. `keepKeys`: API keys and MCP tokens stay valid. */
export const endCredentialsOf = hook<{ userId: string; keepKeys: boolean }>('accounts.endCredentials')

/** What an account can hold that gives access to it, or tells others what happens in it. */
export const holdings = [
  'password',
  'passkeys',
  'keys',
  'tokens',
  'sessions',
  'identities',
  'grants',
  'tunnels',
  'devices',
  'integrations',
  'guests',
] as const
export type Holds = Record<(typeof holdings)[number], number>

/** Returns how many usable holdings of each kind the user has. The results of several handlers are added. */
export const countHoldings = hook<{ userId: string }, Partial<Holds>>('accounts.countHoldings')

/** Connects the identity with which the user proved their mailbox, once it is known who created the account. */
export const connectIdentity = hook<{ user: User; identity: string }>('accounts.connectIdentity')

/** Called before an account is deleted: records of teams lose their reference to the user, personal ones go. */
export const accountRemoved = hook<{ userId: string }>('accounts.accountRemoved')

/** Author name of records whose author deleted their account. */
export const FORMER_USER = 'Somebody who has left'
