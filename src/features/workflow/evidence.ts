import { and, eq } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { throwIfRefused } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { featureVerified } from './events.ts'
import { findFeatureByRef, type Ref } from './reading.ts'
import { evidenceVerifyRule, writingRefusal } from './refusals.ts'
import { featureEvent } from './rows.ts'
import type { SubmittedEvidence } from './schema.ts'
import { featureEvidence } from './table.ts'

export const actorOfRow = (said: {
  actorType: 'user' | 'agent' | 'system'
  actorId: string | null
  actorName: string
}) => ({
  type: said.actorType,
  id: said.actorId,
  name: said.actorName,
})

export const toSubmittedEvidence = (row: typeof featureEvidence.$inferSelect): SubmittedEvidence => ({
  id: row.id,
  gate: row.gate,
  level: row.level,
  evidence: row.evidence,
  missing: row.missing,
  reopenedAt: row.reopenedAt,
  actor: actorOfRow(row),
  createdAt: row.createdAt,
  verified:
    row.verifiedAt && row.verifiedByName !== null
      ? { by: { type: 'user', id: row.verifiedById, name: row.verifiedByName }, at: row.verifiedAt }
      : null,
})

/** The columns that say who checked the evidence: the caller, now. */
export const verifiedColumns = ({ actor, now }: Ctx) => ({
  level: 'verified' as const,
  verifiedById: actor.userId,
  verifiedByName: actor.name,
  verifiedAt: now,
})

/** Marks evidence as checked by the caller. Evidence that someone has already checked stays unchanged. */
export const verify = write(
  'workflow.verify',
  evidenceVerifyRule,
  async (ctx, { ref, evidenceId }: Ref & { evidenceId: string }): Promise<SubmittedEvidence> => {
    const { row, project } = await findFeatureByRef(ctx, { ref })
    throwIfRefused(writingRefusal(ctx, project))
    const mine = and(eq(featureEvidence.id, evidenceId), eq(featureEvidence.featureId, row.id))
    const [before] = await ctx.db.select().from(featureEvidence).where(mine).for('update')
    if (!before) throw notFound('evidence', evidenceId)
    if (before.level === 'verified') return toSubmittedEvidence(before)
    if (before.level === 'missing')
      throw new AppError('conflict', 'The code host does not have what this evidence names. Submit new evidence.')
    const [after] = await ctx.db.update(featureEvidence).set(verifiedColumns(ctx)).where(mine).returning()
    ctx.emit(featureVerified, featureEvent(row, { gate: before.gate, evidenceId }))
    return toSubmittedEvidence(after ?? before)
  },
  { idempotent: true },
)
