import { and, eq, gt, gte, isNull } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { events } from '../../events/table.ts'
import { settleNotifications } from '../notifications/service.ts'
import { readersOf } from '../projects/readers.ts'
import { projects } from '../projects/table.ts'
import { stateBeforeGate, workflowOf } from '../projects/workflow/workflow.ts'
import { featureEvidenceMissing, featureOverridden } from './events.ts'
import { notifyAll } from './moves.ts'
import { featureColumns, featureEvent, type Row } from './rows.ts'
import type { MissingItem } from './schema.ts'
import { featureEvidence, featureReviews, features } from './table.ts'
import { changeFeature } from './writing.ts'

type Evidence = typeof featureEvidence.$inferSelect

/**
 * Marks evidence as missing if the code host does not have what it names, and opens its gate again: the feature returns
 * to the state before the gate, and later evidence no longer counts. Evidence that a person verified meanwhile, or that
 * no longer counts, stays unchanged.
 */
export const markMissing = write(
  'workflow.markMissing',
  machine,
  async (ctx, { evidenceId, missing }: { evidenceId: string; missing: MissingItem[] }): Promise<void> => {
    const reported = and(
      eq(featureEvidence.id, evidenceId),
      eq(featureEvidence.level, 'reported'),
      isNull(featureEvidence.reopenedAt),
    )
    const [given] = await ctx.db.select().from(featureEvidence).where(reported)
    if (!given) return
    const [before] = await ctx.db
      .select(featureColumns)
      .from(features)
      .where(and(eq(features.id, given.featureId), isNull(features.deletedAt)))
      .for('update')
    if (!before) return
    const marked = await ctx.db
      .update(featureEvidence)
      .set({ level: 'missing', missing, reopenedAt: ctx.now })
      .where(reported)
      .returning({ id: featureEvidence.id })
    if (marked.length === 0) return
    const to = await stateToReturnTo(ctx, before, given)
    const after = to === undefined ? before : await moveBack(ctx, before, given, to)
    const items = missing.map(({ item }) => item)
    ctx.emit(
      featureEvidenceMissing,
      featureEvent(after, { from: before.status, to: after.status, gate: given.gate, missing: items }),
    )
    await notifySubmitter(ctx, after, given, items)
  },
)

/** Returns the state before the gate; undefined if the feature did not reach its state through this evidence. */
async function stateToReturnTo(ctx: Ctx, row: Row, { id, gate, createdAt }: Evidence): Promise<string | undefined> {
  const [project] = await ctx.db
    .select({ settings: projects.settings })
    .from(projects)
    .where(eq(projects.id, row.projectId))
  const changesRequested = await ctx.db.$count(
    featureReviews,
    and(
      eq(featureReviews.featureId, row.id),
      eq(featureReviews.verdict, 'changes_requested'),
      gt(featureReviews.id, id),
    ),
  )
  // An admin who overrode a gate has decided regardless of the evidence.
  const overridden = await ctx.db.$count(
    events,
    and(eq(events.subjectId, row.id), eq(events.type, featureOverridden.name), gte(events.at, createdAt)),
  )
  // The gate was passed again since then, with other evidence.
  const newer = await ctx.db.$count(
    featureEvidence,
    and(
      eq(featureEvidence.featureId, row.id),
      eq(featureEvidence.gate, gate),
      gt(featureEvidence.id, id),
      isNull(featureEvidence.reopenedAt),
    ),
  )
  if (!project || changesRequested + overridden + newer > 0) return undefined
  return stateBeforeGate(workflowOf(project), gate, row.status)
}

async function moveBack(ctx: Ctx, before: Row, { id }: Evidence, status: string): Promise<Row> {
  await ctx.db
    .update(featureEvidence)
    .set({ reopenedAt: ctx.now })
    .where(
      and(eq(featureEvidence.featureId, before.id), gt(featureEvidence.id, id), isNull(featureEvidence.reopenedAt)),
    )
  await settleNotifications(ctx, { id: before.id, reasons: ['review'] })
  return changeFeature(ctx, before, { status })
}

async function notifySubmitter(ctx: Ctx, row: Row, { actorId }: Evidence, items: readonly string[]): Promise<void> {
  const people = [actorId, row.assigneeType === 'user' ? row.assigneeId : null].filter((id) => id !== null)
  await notifyAll(ctx, row, await readersOf(ctx, row.projectId, [...new Set(people)]), {
    reason: 'needs_you',
    type: 'warning',
    title: `Not found at the code host: ${items.join(', ').slice(0, 100)} (${row.title})`,
  })
}
