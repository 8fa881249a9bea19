import { and, eq, gt } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { AppError } from '../../errors.ts'
import { events } from '../../events/table.ts'
import { CONTENT_BYTES } from '../memory/schema.ts'
import * as memory from '../memory/service.ts'
import { findProjectIfVisible } from '../projects/current.ts'
import { taskCompleted } from '../tasks/events.ts'
import type { Row } from './rows.ts'
import type { Session, SessionEnded } from './schema.ts'

/** Returns whether the session completed a task after its last checkpoint: then the saved next step is done. */
export async function hasCompletedSince(ctx: Ctx, { id, checkpointAt, seenSeq }: Row): Promise<boolean> {
  if (!checkpointAt) return false
  const [row] = await ctx.db
    .select({ seq: events.seq })
    .from(events)
    .where(and(eq(events.sessionId, id), eq(events.type, taskCompleted.name), gt(events.seq, seenSeq)))
    .limit(1)
  return row !== undefined
}

/** Stores the finished work and the final state as memories. Returns none if the caller may not write memories. */
export async function rememberEnd(ctx: Ctx, session: Session): Promise<SessionEnded['memories']> {
  const content = finalState(session)
  if (!content) return []
  const title = truncateText(
    `Session of ${session.startedAt.slice(0, 10)}: ${session.goals[0]?.replace(/\s+/g, ' ') ?? 'work'}`,
    200,
  )
  for (const place of await placesOf(ctx, session)) {
    try {
      const { id } = await memory.storePrepared(ctx, {
        ...place,
        title,
        content,
        tags: ['session'],
        source: `session ${session.id}`,
      })
      return [{ id, title }]
    } catch (error) {
      // The agent is archived, the token may not write memories, or the project is read-only for the caller.
      if (!(error instanceof AppError)) throw error
    }
  }
  return []
}

/** A session of a project is stored only in that project: it concerns only people who see the project. */
async function placesOf(ctx: Ctx, { id, projectId, agentId }: Session) {
  if (projectId)
    return (await findProjectIfVisible(ctx, projectId)) ? [{ scope: 'project' as const, scopeId: projectId }] : []
  const session = { scope: 'session' as const, scopeId: id }
  return agentId ? [{ scope: 'agent' as const, scopeId: agentId }, session] : [session]
}

function finalState({ goals, summary, checkpoint: saved }: Session): string {
  if (!summary && !saved) return ''
  const lines = [
    summary,
    goals.length > 0 && `Goals: ${goals.join('; ')}`,
    saved?.nextStep && `Next step: ${saved.nextStep}`,
    saved?.branch && `Branch: ${saved.branch}`,
    saved?.files?.length && `Files: ${saved.files.join(', ')}`,
    saved?.commands?.length && `Commands: ${saved.commands.join('; ')}`,
    saved?.checks?.length && `Checks: ${saved.checks.join('; ')}`,
    saved?.openQuestions?.length && `Open questions: ${saved.openQuestions.join('; ')}`,
  ]
  const text = lines.filter(Boolean).join('\n')
  const bytes = Buffer.from(text)
  return bytes.length <= CONTENT_BYTES
    ? text
    : bytes
        .subarray(0, CONTENT_BYTES)
        .toString()
        .replace(/\ufffd+$/, '')
}

const truncateText = (text: string, most: number): string => text.slice(0, most).replace(/[\ud800-\udbff]$/, '')
