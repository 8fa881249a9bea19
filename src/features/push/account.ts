import { eq } from 'drizzle-orm'
import { revokeProgramCredentials, sessionEnded } from '../accounts/hooks.ts'
import { pushSubscriptions } from './table.ts'

/** A browser that was signed out receives nothing more. */
export const signOutHooks = [
  sessionEnded.handle(async (ctx, { sessionId }) => {
    await ctx.db.delete(pushSubscriptions).where(eq(pushSubscriptions.sessionId, sessionId))
  }),
  revokeProgramCredentials.handle(async (ctx, { userId }) => {
    await ctx.db.delete(pushSubscriptions).where(eq(pushSubscriptions.userId, userId))
  }),
]
