import { hook } from '../../hooks.ts'
import type { User } from '../users/schema.ts'

/** Hooks for features that depend on accounts. All handlers run in the caller's transaction. */

/** Throws unless the invite token lets this address register while registration is closed. */
export const mayRegister = hook<{ email: string; inviteToken: string }, { provesMailbox: boolean }>(
  'accounts.mayRegister',
)

/** Called after an account was created with an invite token. */
export const onRegistered = hook<{ user: User; inviteToken: string }>('accounts.onRegistered')

/** Counts the user's sign-in methods, except the password and mailed codes. */
export const countSignInMethods = hook<{ userId: string }, number>('accounts.countSignInMethods')

/** Removes the sign-in methods that work without the password. */
export const removeSignInMethods = hook<{ userId: string }>('accounts.removeSignInMethods')

/** Revokes credentials of the user's programs and devices. `keepKeys`: API keys and MCP tokens stay valid. */
export const revokeProgramCredentials = hook<{ userId: string; keepKeys: boolean }>('accounts.endCredentials')

/** Called when one login session was ended; when all of a user end, `revokeProgramCredentials` is called instead. */
export const sessionEnded = hook<{ sessionId: string }>('accounts.sessionEnded')

/** Everything of an account that gives access to it or receives its notifications. */
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
export type HoldingCounts = Record<(typeof holdings)[number], number>

/** Returns how many usable holdings of each kind the user has. The results of several handlers are added. */
export const countHoldings = hook<{ userId: string }, Partial<HoldingCounts>>('accounts.countHoldings')

/** Connects the identity that the user signed in with, after they answered who created the account. */
export const connectIdentity = hook<{ user: User; identity: string }>('accounts.connectIdentity')

/** Called before an account is deleted: team records lose their reference to the user, personal ones are deleted. */
export const accountRemoved = hook<{ userId: string }>('accounts.accountRemoved')

/** Author name of records whose author deleted their account. */
export const FORMER_USER = 'Former user'
