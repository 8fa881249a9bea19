import { hook } from '../../hooks.ts'
import type { User } from '../users/schema.ts'

/** Where features above take part in the life of an account. All of them run in the transaction of the caller. */

/** Whether this token lets the address register, even where registration is closed. A handler may also refuse by throwing. */
export const mayRegister = hook<{ email: string; inviteToken: string }, boolean>('accounts.mayRegister')

/** An account was created with this token. */
export const onRegistered = hook<{ user: User; inviteToken: string }>('accounts.onRegistered')

/** How many ways to sign in, besides the password and the mailbox, the user has and can use. */
export const countSignInMethods = hook<{ userId: string }, number>('accounts.countSignInMethods')

/** Removes the ways to sign in that the password does not guard. */
export const removeSignInMethods = hook<{ userId: string }>('accounts.removeSignInMethods')

/** Ends what the user's programs and devices hold. `keepKeys`: API keys and MCP tokens go on working. */
export const endCredentialsOf = hook<{ userId: string; keepKeys: boolean }>('accounts.endCredentials')

/** Before an account is deleted: what belongs to teams loses its link to the user, and what is theirs alone goes. */
export const accountRemoved = hook<{ userId: string }>('accounts.accountRemoved')

/** The name of the author of what stays. */
export const FORMER_USER = 'Somebody who has left'
