import { type Ctx, flow, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { invalid } from '../../errors.ts'
import { defaultProject, findProjectIfVisible } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { writeBrief, writeChangesBrief } from './brief.ts'
import type { Since } from './changes.ts'
import { findNamedOrOpen, findOpenSession, findWorkSession, type Row } from './rows.ts'
import type { CheckpointPatch, Context, ContextQuery, SessionBrief, SessionEnd, SessionEnded } from './schema.ts'
import { checkpoint, end, resume, start, takeUpSession } from './service.ts'

/**
 * Returns the brief of the named or open session. Without one, or for another project, the brief of the project alone;
 * without a project, an overview of the caller's tasks and projects.
 */
export const getBriefContext = read(
  'sessions.context',
  member('sessions:read'),
  async (ctx, { since, ...query }: ContextQuery): Promise<Context> =>
    contextOf(ctx, query, since === undefined ? undefined : { at: since }),
)

/** `isSaved`: the caller has just saved a checkpoint, so it needs only the changes of others. */
async function contextOf(
  ctx: Ctx,
  query: Omit<ContextQuery, 'since'>,
  since: Since | undefined,
  isSaved = false,
): Promise<Context> {
  const found = query.sessionId === undefined ? await findOpenSession(ctx) : await findWorkSession(ctx, query.sessionId)
  const asked = query.projectId === undefined ? undefined : await projects.findProject(ctx, query.projectId)
  const row = found && (!asked || query.sessionId !== undefined || found.projectId === asked.id) ? found : undefined
  const project = asked ?? (row ? await findProjectIfVisible(ctx, row.projectId) : await defaultProject(ctx))
  const subject = { row, project, since, isWanted: since !== undefined, tokens: query.budgetTokens }
  const brief = await (isSaved ? writeChangesBrief : writeBrief)(ctx, subject)
  return { sessionId: row?.id ?? null, projectId: project?.id ?? null, brief }
}

/** Saves a checkpoint in the named or open session, then returns what others changed since the last one. */
export const saveAndBrief = flow(
  'sessions.saveAndBrief',
  member('sessions:write'),
  async (
    ctx,
    { checkpoint: saved = {}, ...query }: ContextQuery & { checkpoint?: CheckpointPatch },
    keyed,
  ): Promise<Context> => {
    const { seenSeq } = await findNamedOrOpen(ctx, query.sessionId)
    const { id } = await checkpoint(keyed, { ref: query.sessionId, checkpoint: saved })
    // Changes before the checkpoint are listed now, but count as seen from now on.
    const since = query.since === undefined ? { seq: seenSeq } : { at: query.since }
    return contextOf(ctx, { ...query, sessionId: id }, since, true)
  },
)

/** Saves a checkpoint in the named or open session. Resumes the session if it is not active, or starts one. */
const saveHere = write(
  'sessions.saveHere',
  member('sessions:write'),
  async (ctx, { ref, saved }: { ref?: string; saved: CheckpointPatch }): Promise<Pick<Row, 'id' | 'seenSeq'>> => {
    const found =
      ref === undefined ? ((await findOpenSession(ctx)) ?? (await start(ctx, {}))) : await findWorkSession(ctx, ref)
    const { id, seenSeq, status, credentialId, connection } = found
    const isHere = credentialId === ctx.actor.credentialId && connection === (ctx.connection ?? null)
    if (status !== 'active' || !isHere) await takeUpSession(ctx, { ref: id })
    await checkpoint(ctx, { ref: id, checkpoint: saved })
    return { id, seenSeq }
  },
)

interface Resume {
  ref?: string
  checkpoint?: CheckpointPatch
  budgetTokens?: number
}

/** For the tool `resume_session`: a caller that sends a checkpoint has not lost its context, but saves it. */
export const resumeOrSave = flow(
  'sessions.resumeOrSave',
  member('sessions:write'),
  async (ctx, { ref, checkpoint: saved, budgetTokens }: Resume, keyed): Promise<SessionBrief | Context> => {
    if (!saved) return resume(keyed, { ref, budgetTokens })
    const { id, seenSeq } = await saveHere(keyed, { ref, saved })
    return contextOf(ctx, { sessionId: id, budgetTokens }, { seq: seenSeq }, true)
  },
)

/** For the tool `end_session`: with `keep` the session stays open, and only the checkpoint is saved. */
export const endOrSave = flow(
  'sessions.endOrSave',
  member('sessions:write'),
  async (
    _,
    { ref, keep, ...last }: SessionEnd & { ref?: string; keep?: boolean },
    keyed,
  ): Promise<SessionEnded | Context> => {
    if (!keep) return end(keyed, { ref, ...last })
    if (!last.checkpoint) throw invalid('/checkpoint', 'keep saves a checkpoint. Send one in checkpoint.', 'required')
    if (last.summary !== undefined) throw invalid('/summary', 'Send summary when you end the session, without keep.')
    return saveAndBrief(keyed, { sessionId: ref, checkpoint: last.checkpoint })
  },
)
