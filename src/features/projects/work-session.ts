import type { Ctx } from '../../action.ts'
import { hook } from '../../hooks.ts'

/** The part of a work session that features below `sessions` use. */
export interface WorkSession {
  id: string
  organizationId: string
  projectId: string | null
  agentId: string | null
  /** The credential that works in it. */
  credentialId: string | null
}

/**
 * One of the caller's own sessions. Either by id or id prefix, in the current team (default) or in any of their teams;
 * or the active session of the calling worker (this credential, agent and connection); or that of the calling agent: on
 * this connection, else one without a connection, which a person may have started for it.
 */
export type SessionRef = { ref: string; team?: 'current' | 'any' } | { active: 'worker' | 'agent' }

export const workSession = hook<SessionRef, WorkSession | undefined>('projects.workSession')

/** Throws not_found if the named session does not exist; returns undefined if none is active. */
export async function sessionOf(ctx: Ctx, which: SessionRef): Promise<WorkSession | undefined> {
  const [found] = await workSession.call(ctx, which)
  return found
}
