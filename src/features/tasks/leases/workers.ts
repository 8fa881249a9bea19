import { eq, gt, isNotNull, isNull, lte, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { NO_USER_ID, ownIds } from '../../../auth/actor.ts'
import { and, not, or } from '../../../db/conditions.ts'
import {
  currentUserOrAgent,
  findOwnAgent,
  isSameUserOrAgent,
  type KnownUserOrAgent,
} from '../../agents/users-and-agents.ts'
import { sessionOf } from '../../projects/work-session.ts'
import type { FoundTask } from '../rows.ts'
import type { Lease } from '../schema.ts'
import { tasks } from '../table.ts'
import { isLeaseStreamOpen } from './lease-columns.ts'

/**
 * Who works on a task. A person is one worker, wherever they are signed in. Agents are told apart by their credential,
 * by the session that the call names, and by the connection if the protocol has one: two tokens of one person are two
 * workers, and so are two windows on one token.
 */
export interface Worker extends KnownUserOrAgent {
  sessionId: string | null
  credentialId: string | null
  connection: string | null
  /** Whether its protocol cannot tell windows of one token apart. */
  isWithoutConnection: boolean
  /** The person that an agent works for. */
  forId: string | null
  /** Whose tasks count as the worker's: those of the agent, and those of its person if it works only for them. */
  selves: readonly string[]
  /** Whether it may continue leases that were assigned to it: only its own token works as the agent of a token. */
  takesHanded: boolean
}

const workerOf = (ctx: Ctx, party: KnownUserOrAgent, sessionId: string | null, takesHanded = true): Worker => ({
  ...party,
  sessionId,
  credentialId: ctx.actor.credentialId,
  connection: ctx.connection ?? null,
  isWithoutConnection: ctx.actor.kind === 'mcp_token' && ctx.connection === undefined,
  forId: party.type === 'agent' ? ctx.actor.userId : null,
  selves: party.id === ctx.actor.agent?.id ? ownIds(ctx.actor) : [party.id],
  takesHanded,
})

/** Returns the worker of a call that names neither an agent nor a session. */
export const callingWorker = (ctx: Ctx): Worker => workerOf(ctx, currentUserOrAgent(ctx), null)

/** Returns the worker that the call names, because several agents on one token name themselves. */
export async function namedWorker(
  ctx: Ctx,
  organizationId: string,
  { agent, sessionId }: { agent?: string; sessionId?: string },
): Promise<Worker> {
  if (!agent) return workerIn(ctx, sessionId)
  const { isOfToken, ...party } = await findOwnAgent(ctx, organizationId, agent)
  const takesHanded = !isOfToken || party.id === ctx.actor.agent?.id
  return workerOf(ctx, party, await namedSession(ctx, party, sessionId), takesHanded)
}

/** Returns the worker of a call that may name a session, but no agent. */
export const workerIn = async (ctx: Ctx, sessionId: string | undefined): Promise<Worker> => {
  const party = currentUserOrAgent(ctx)
  return workerOf(ctx, party, await namedSession(ctx, party, sessionId))
}

/** A session tells agents apart only if this credential and this agent work in it. */
async function namedSession(ctx: Ctx, party: KnownUserOrAgent, ref: string | undefined): Promise<string | null> {
  const session = ref ? await sessionOf(ctx, { ref, team: 'any' }) : undefined
  if (!session) return null
  const isOwn = session.credentialId === ctx.actor.credentialId && session.agentId === party.id
  return party.type === 'user' || isOwn ? session.id : null
}

/** Windows of one token cannot be told apart without a connection or a session. */
export const isUnnamed = ({ isWithoutConnection, sessionId }: Worker): boolean =>
  isWithoutConnection && sessionId === null

/**
 * SQL condition: the lease, expired or not, belongs to this worker. So does a lease of the same agent and credential on
 * a connection that is known to have closed, unless both name different sessions: a restarted client continues its
 * work. A lease without a credential was assigned to an agent, and belongs to the first worker that acts as it.
 */
const isLeasedTo = ({ type, id, sessionId, credentialId, connection, takesHanded }: Worker): SQL => {
  const session = sessionId ? or(isNull(tasks.leaseSessionId), eq(tasks.leaseSessionId, sessionId)) : undefined
  const here = sql`${tasks.leaseConnection} is not distinct from ${connection}::text`
  const free = or(isNotNull(tasks.leaseClosedAt), here)
  const own = and(eq(tasks.leaseCredentialId, credentialId ?? NO_USER_ID), session, free)
  return and(
    eq(tasks.leaseType, type),
    eq(tasks.leaseHolderId, id),
    type === 'user' ? session : or(takesHanded ? isNull(tasks.leaseCredentialId) : undefined, own),
  )
}

/** SQL condition: the worker has a live lease. */
export const isHeldBy = (worker: Worker, now: string): SQL => and(isLeasedTo(worker), gt(tasks.leaseExpiresAt, now))

/**
 * SQL condition: the same agent took the lease with the same credential, on another connection whose stream is not
 * open. A call that names the task may take it over: its program has probably restarted.
 */
const isLeftBehindBy = ({ type, id, sessionId, credentialId }: Worker): SQL =>
  type === 'user'
    ? sql`false`
    : and(
        eq(tasks.leaseType, type),
        eq(tasks.leaseHolderId, id),
        eq(tasks.leaseCredentialId, credentialId ?? NO_USER_ID),
        sessionId ? or(isNull(tasks.leaseSessionId), eq(tasks.leaseSessionId, sessionId)) : undefined,
        not(isLeaseStreamOpen),
      )

/** SQL condition for a successful claim, in the statement that claims: no live lease, or the worker's own. */
export const isClaimableBy = (worker: Worker, now: string): SQL =>
  or(isNull(tasks.leaseExpiresAt), lte(tasks.leaseExpiresAt, now), isLeasedTo(worker), isLeftBehindBy(worker))

/** SQL condition: the lease has not changed since the row was read. Taking a lease does not raise the version. */
export const leaseOf = ({ task: { lease }, leaseCredentialId, leaseConnection }: FoundTask, now: string): SQL =>
  or(
    isNull(tasks.leaseExpiresAt),
    lte(tasks.leaseExpiresAt, now),
    and(
      sql`${tasks.leaseHolderId} is not distinct from ${lease?.holder.id ?? null}::uuid`,
      sql`${tasks.leaseCredentialId} is not distinct from ${leaseCredentialId}::uuid`,
      sql`${tasks.leaseConnection} is not distinct from ${leaseConnection}::text`,
    ),
  )

/** Returns whether the live lease is this worker's, as `isLeasedTo` does in SQL. */
export function holdsLease({ task, ...found }: FoundTask, worker: Worker): boolean {
  const { lease } = task
  if (!lease || !isSameUserOrAgent(lease.holder, worker)) return false
  const sameSession = isInSession(lease, worker)
  if (worker.type === 'user') return sameSession
  if (found.leaseCredentialId === null) return worker.takesHanded
  if (found.leaseCredentialId !== worker.credentialId) return false
  return sameSession && (found.leaseClosedAt !== null || found.leaseConnection === worker.connection)
}

/** Returns whether a call that names the task may take over the live lease, as `isLeftBehindBy` does in SQL. */
export function isLeftBehind({ task, ...found }: FoundTask, worker: Worker): boolean {
  const { lease } = task
  if (!lease || worker.type === 'user' || !isSameUserOrAgent(lease.holder, worker)) return false
  const sameCredential = found.leaseCredentialId !== null && found.leaseCredentialId === worker.credentialId
  return sameCredential && isInSession(lease, worker) && !found.leaseStreamOpen
}

/** Their sessions distinguish two windows on one token, if both sessions are known. */
export const isInSession = ({ sessionId }: Lease, worker: Worker): boolean =>
  !worker.sessionId || !sessionId || worker.sessionId === sessionId

/** Returns whether the call has the credential and connection of the lease, whatever agent either of them named. */
export const isFromThere = (ctx: Ctx, { leaseCredentialId, leaseConnection }: FoundTask): boolean =>
  leaseCredentialId !== null &&
  leaseCredentialId === ctx.actor.credentialId &&
  leaseConnection === (ctx.connection ?? null)
