import type { Ctx } from '../../action.ts'
import { hook } from '../../hooks.ts'

/** What features below `sessions` need to know of a session of work. */
export interface WorkSession {
  id: string
  organizationId: string
  projectId: string | null
}

/**
 * Which of the caller's own sessions: one by its id or the beginning of it, in the current team (default) or in any of their teams;
 * or the active one of the token that calls, or of the agent that speaks.
 */
export type SessionRef = { ref: string; team?: 'current' | 'any' } | { active: 'token' | 'agent' }

/** Handled by sessions. */
export const workSession = hook<SessionRef, WorkSession | undefined>('projects.workSession')

/** Throws not_found if a session is named that is not there; returns undefined if none is active. */
export async function sessionOf(ctx: Ctx, which: SessionRef): Promise<WorkSession | undefined> {
  const [found] = await workSession.call(ctx, which)
  return found
}
