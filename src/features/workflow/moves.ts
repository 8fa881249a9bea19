import { and, eq, inArray, isNull, or, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { isInPerson } from '../../auth/actor.ts'
import { throwIfRefused } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { AppError } from '../../errors.ts'
import { type Notice, notify, settleNotifications } from '../notifications/service.ts'
import { memberships } from '../organizations/table.ts'
import { readersOf } from '../projects/readers.ts'
import type { Project } from '../projects/schema.ts'
import { isInReview, type Move, stepFor, workflowOf } from '../projects/workflow/workflow.ts'
import { blockersOf, missingBlockers } from './dependencies.ts'
import { featureAdvanced, featureReviewed } from './events.ts'
import { verifiedColumns } from './evidence.ts'
import { openTasks } from './open-tasks.ts'
import { authorRefusal } from './refusals.ts'
import { featureEvent, type Row } from './rows.ts'
import { featureEvidence, featureReviews } from './table.ts'

interface MoveResult {
  to: string
  /** Call it with the row after the move. */
  notify(after: Row): Promise<void>
}

/**
 * Changes a feature's state: the only way besides an override. Asks the engine, stores the evidence, and throws with
 * all missing items.
 */
export async function moveFeature(
  ctx: Ctx,
  project: Project,
  before: Row,
  wanted: Move,
  level: 'reported' | 'verified' = 'reported',
  comments?: string,
): Promise<MoveResult> {
  const workflow = workflowOf(project)
  const found = stepFor(workflow, before, wanted)
  if ('refused' in found) throw new AppError('conflict', found.refused)
  const { to, gate } = found
  const missing = [
    ...found.missing,
    ...(wanted.by === 'changes_requested' ? [] : missingBlockers(workflow, await blockersOf(ctx, before.id))),
    ...(await openTasks(ctx, project, before, to)),
  ]
  if (missing.length > 0)
    throw new AppError(
      'conflict.gate',
      `To move from ${before.status} to ${to}, the feature needs ${missing.map((m) => `${m.needs} (${m.item})`).join('; ')}.`,
      {
        errors: missing.map(({ item, needs }) => ({
          pointer: `/${item.split(' ')[0]?.replace('.', '/')}`,
          code: 'missing',
          message: `${needs}.`,
        })),
        missing: missing.map(({ item, needs }) => ({ item, needs })),
        next: missing.map(({ next }) => next),
      },
    )
  if (wanted.by === 'advance') {
    if (wanted.evidence && gate) await keepEvidence(ctx, before, gate, wanted.evidence, level)
  } else {
    throwIfRefused(await authorRefusal(ctx, project, before, wanted.by))
    await ctx.db
      .insert(featureReviews)
      .values({ featureId: before.id, verdict: wanted.by, comment: comments, ...actorColumns(ctx) })
  }
  const facts = { from: before.status, to, gate }
  return {
    to,
    notify: async (after) => {
      if (wanted.by === 'advance') ctx.emit(featureAdvanced, featureEvent(after, facts))
      else ctx.emit(featureReviewed, featureEvent(after, { ...facts, verdict: wanted.by }))
      await settleNotifications(ctx, { id: after.id, reasons: wanted.by === 'advance' ? ['needs_you'] : ['review'] })
      if (isInReview(workflow, to)) await askForReview(ctx, after)
      if (wanted.by === 'changes_requested') await notifyOfRequestedChanges(ctx, after)
    },
  }
}

const actorColumns = ({ actor, now }: Ctx) => ({
  actorType:
    actor.kind === 'mcp_token' ? ('agent' as const) : actor.kind === 'system' ? ('system' as const) : ('user' as const),
  actorId: actor.userId,
  actorName: actor.agent?.name ?? actor.name,
  createdAt: now,
})

async function keepEvidence(
  ctx: Ctx,
  { id }: Row,
  gate: string,
  evidence: (typeof featureEvidence.$inferInsert)['evidence'],
  level: 'reported' | 'verified',
): Promise<void> {
  if (level === 'verified' && !isInPerson(ctx.actor))
    throw new AppError('forbidden', 'Only a person signed in at a browser can set level verified. Leave level out.', {
      next: [{ page: `/features/${id}` }],
    })
  const [shown] = await ctx.db
    .select({ gate: featureEvidence.gate })
    .from(featureEvidence)
    .where(
      and(
        eq(featureEvidence.featureId, id),
        eq(featureEvidence.evidence, evidence),
        isNull(featureEvidence.reopenedAt),
        sql`${featureEvidence.createdAt} > coalesce((select max(r.created_at) from ${featureReviews} r
          where r.feature_id = ${id} and r.verdict = 'changes_requested'), '-infinity')`,
      ),
    )
    .limit(1)
  // A repeated call must not move the feature through the next gate as well. After requested changes or a reopened
  // gate, the same evidence may count again.
  if (shown)
    throw new AppError('conflict', `This evidence was already submitted at ${shown.gate}. Submit what ${gate} needs.`)
  const evidenceId = newId()
  await ctx.db.insert(featureEvidence).values({
    ...(level === 'verified' ? verifiedColumns(ctx) : { level }),
    id: evidenceId,
    featureId: id,
    gate,
    evidence,
    ...actorColumns(ctx),
  })
  // A job checks later that it exists, so that no request waits for a slow or unreachable code host.
  const { commits = [], pullRequests = [], testRuns = [], links = [] } = evidence
  if (level === 'reported' && commits.length + pullRequests.length + testRuns.length + links.length > 0)
    ctx.enqueue({ name: 'repos.observe', data: { evidenceId } })
}

// ---- notifications

/** People are notified of their own agents' actions, but not of their own. */
const isOwnAction = ({ actor }: Ctx, userId: string): boolean => actor.userId === userId && actor.kind !== 'mcp_token'

export const notifyAll = (ctx: Ctx, row: Row, people: string[], notice: Omit<Notice, 'userId'>): Promise<void> =>
  notify(ctx, ...people.map((userId) => ({ ...notice, userId, about: { kind: 'feature' as const, id: row.id } })))

/** Notifies the assignee, unless they did it themselves or can no longer see the feature. */
async function notifyAssigned(ctx: Ctx, row: Row, notice: Omit<Notice, 'userId'>): Promise<void> {
  if (row.assigneeType !== 'user' || !row.assigneeId || row.assigneeId === ctx.actor.userId) return
  await notifyAll(ctx, row, await readersOf(ctx, row.projectId, [row.assigneeId]), notice)
}

export const notifyFeatureAssignee = (ctx: Ctx, row: Row): Promise<void> =>
  notifyAssigned(ctx, row, { reason: 'assignment', title: `Assigned to you: ${row.title}` })
const notifyOfRequestedChanges = (ctx: Ctx, row: Row): Promise<void> =>
  notifyAssigned(ctx, row, { reason: 'needs_you', type: 'warning', title: `Changes requested: ${row.title}` })

/** Notifies the creator; if the creator is the caller, the team's admins. */
async function askForReview(ctx: Ctx, row: Row): Promise<void> {
  const { organizationId, createdById } = row
  const candidates = await ctx.db
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(
      and(
        eq(memberships.organizationId, organizationId),
        or(
          createdById ? eq(memberships.userId, createdById) : undefined,
          inArray(memberships.role, ['owner', 'admin']),
        ),
      ),
    )
    .orderBy(memberships.userId)
  const people = candidates.map(({ userId }) => userId).filter((userId) => !isOwnAction(ctx, userId))
  const readers = await readersOf(ctx, row.projectId, people)
  const asked = createdById && readers.includes(createdById) ? [createdById] : readers.slice(0, 20)
  await notifyAll(ctx, row, asked, { reason: 'review', title: `Ready for review: ${row.title}` })
}
