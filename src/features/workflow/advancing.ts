import { checkVersion, write } from '../../action.ts'
import { member, requireRole } from '../../auth/policy.ts'
import { invalid } from '../../errors.ts'
import { workflowOf } from '../projects/workflow/workflow.ts'
import { featureOverridden } from './events.ts'
import { move } from './moves.ts'
import { find, present, type Ref } from './reading.ts'
import { overriding, reviewing } from './refusals.ts'
import { about } from './rows.ts'
import type { Feature, FeatureAdvance, FeatureOverride, FeatureReview } from './schema.ts'
import { change, requireWriter, writable } from './writing.ts'

/** Moves a feature to its next state, if it passes its gate. */
export const advance = write(
  'workflow.advance',
  member('features:write'),
  async (ctx, { ref, project: inProject, evidence, level }: FeatureAdvance & Ref): Promise<Feature> => {
    const { row: before, project } = await writable(ctx, { ref, project: inProject })
    const moved = await move(ctx, project, before, { by: 'advance', evidence }, level)
    const after = await change(ctx, before, { status: moved.to })
    await moved.notify(after)
    return present(ctx, project, after)
  },
  { versioned: true },
)

export const review = write(
  'workflow.review',
  reviewing,
  async (ctx, { ref, verdict, comments }: FeatureReview & Ref): Promise<Feature> => {
    const { row: before, project } = await writable(ctx, { ref })
    const moved = await move(ctx, project, before, { by: verdict }, undefined, comments)
    const after = await change(ctx, before, { status: moved.to })
    await moved.notify(after)
    return present(ctx, project, after)
  },
  { versioned: true },
)

/** Lets an admin of the team skip the gates, with a reason. The event is the audit entry. */
export const override = write(
  'workflow.override',
  overriding,
  async (ctx, { ref, status, reason }: FeatureOverride & Ref): Promise<Feature> => {
    const { row: before, project } = await find(ctx, { ref })
    requireRole(ctx.actor, project.organizationId, 'admin', 'Overriding a gate')
    requireWriter(ctx, project)
    checkVersion(ctx, before)
    const { states } = workflowOf(project)
    if (!states.includes(status)) throw invalid('/status', `status must be one of: ${states.join(', ')}.`, 'enum')
    const after = await change(ctx, before, { status })
    ctx.emit(featureOverridden, about(after, { from: before.status, to: status, reason: reason.trim() }))
    return present(ctx, project, after)
  },
  { versioned: true },
)
