import { checkVersion, write } from '../../action.ts'
import { member, requireRole } from '../../auth/policy.ts'
import { invalid } from '../../errors.ts'
import { workflowOf } from '../projects/workflow/workflow.ts'
import { featureOverridden } from './events.ts'
import { moveFeature } from './moves.ts'
import { findFeatureByRef, type Ref, toFeature } from './reading.ts'
import { overrideRule, reviewRule } from './refusals.ts'
import { featureEvent } from './rows.ts'
import type { Feature, FeatureAdvance, FeatureOverride, FeatureReview } from './schema.ts'
import { changeFeature, findWritableFeature, requireWriter } from './writing.ts'

/** Moves a feature to its next state, if it passes its gate. */
export const advanceFeature = write(
  'workflow.advance',
  member('features:write'),
  async (ctx, { ref, project: inProject, evidence, level }: FeatureAdvance & Ref): Promise<Feature> => {
    const { row: before, project } = await findWritableFeature(ctx, { ref, project: inProject })
    const moved = await moveFeature(ctx, project, before, { by: 'advance', evidence }, level)
    const after = await changeFeature(ctx, before, { status: moved.to })
    await moved.notify(after)
    return toFeature(ctx, project, after)
  },
  { versioned: true },
)

export const reviewFeature = write(
  'workflow.review',
  reviewRule,
  async (ctx, { ref, verdict, comments }: FeatureReview & Ref): Promise<Feature> => {
    const { row: before, project } = await findWritableFeature(ctx, { ref })
    const moved = await moveFeature(ctx, project, before, { by: verdict }, undefined, comments)
    const after = await changeFeature(ctx, before, { status: moved.to })
    await moved.notify(after)
    return toFeature(ctx, project, after)
  },
  { versioned: true },
)

/** Lets an admin of the team skip the gates, with a reason. The event is the audit entry. */
export const overrideGate = write(
  'workflow.override',
  overrideRule,
  async (ctx, { ref, status, reason }: FeatureOverride & Ref): Promise<Feature> => {
    const { row: before, project } = await findFeatureByRef(ctx, { ref })
    requireRole(ctx.actor, project.organizationId, 'admin', 'Overriding a gate')
    requireWriter(ctx, project)
    checkVersion(ctx, before)
    const { states } = workflowOf(project)
    if (!states.includes(status)) throw invalid('/status', `status must be one of: ${states.join(', ')}.`, 'enum')
    const after = await changeFeature(ctx, before, { status })
    ctx.emit(featureOverridden, featureEvent(after, { from: before.status, to: status, reason: reason.trim() }))
    return toFeature(ctx, project, after)
  },
  { versioned: true },
)
