import { type Ctx, flow, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { defaultProject, ifThere } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { writeBrief } from './brief.ts'
import type { Since } from './changes.ts'
import { find, namedOrRunning, running } from './rows.ts'
import type { Checkpoint, Context, ContextQuery } from './schema.ts'
import { checkpoint } from './service.ts'

/**
 * Returns the brief of the named or open session. Without one, or if another project is asked for, the brief of the
 * project alone.
 */
export const context = read(
  'sessions.context',
  member('sessions:read'),
  async (ctx, { since, ...query }: ContextQuery): Promise<Context> =>
    contextOf(ctx, query, since === undefined ? undefined : { at: since }),
)

async function contextOf(ctx: Ctx, query: Omit<ContextQuery, 'since'>, since: Since | undefined): Promise<Context> {
  const found = query.sessionId === undefined ? await running(ctx) : await find(ctx, query.sessionId)
  const asked = query.projectId === undefined ? undefined : await projects.find(ctx, query.projectId)
  const row = found && (!asked || query.sessionId !== undefined || found.projectId === asked.id) ? found : undefined
  const project = asked ?? (row ? await ifThere(ctx, row.projectId) : await defaultProject(ctx))
  const brief = await writeBrief(ctx, { row, project, since, tokens: query.budgetTokens })
  return { sessionId: row?.id ?? null, projectId: project?.id ?? null, brief }
}

/** For the tool `get_context` with a checkpoint: saves it, then returns the brief. */
export const saveAndBrief = flow(
  'sessions.saveAndBrief',
  member('sessions:write'),
  async (
    ctx,
    { checkpoint: saved = {}, ...query }: ContextQuery & { checkpoint?: Checkpoint },
    keyed,
  ): Promise<Context> => {
    const { seenSeq } = await namedOrRunning(ctx, query.sessionId)
    const { id } = await checkpoint(keyed, { ref: query.sessionId, checkpoint: saved })
    // This brief still lists what changed before the checkpoint, though it counts as seen from now on.
    return contextOf(
      ctx,
      { ...query, sessionId: id },
      query.since === undefined ? { seq: seenSeq } : { at: query.since },
    )
  },
)
