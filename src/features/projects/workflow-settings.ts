import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../../auth/actor.ts'
import { requireRole } from '../../auth/policy.ts'
import { AppError, invalid } from '../../errors.ts'
import { checkSettings } from '../organizations/service.ts'
import { problemsIn } from './workflow.ts'

type Settings = Record<string, unknown>

/** A project may have any settings, but `workflow` and `allowSelfReview` must be valid. */
export function checkProjectSettings(settings: Settings | undefined): void {
  checkSettings(settings)
  if (settings?.workflow !== undefined) {
    const errors = problemsIn(settings.workflow).map((e) => ({ ...e, pointer: `/settings/workflow${e.pointer}` }))
    if (errors[0]) throw new AppError('invalid', `The workflow is invalid: ${errors[0].message}`, { errors })
  }
  if (settings?.allowSelfReview !== undefined && typeof settings.allowSelfReview !== 'boolean')
    throw invalid('/settings/allowSelfReview', 'allowSelfReview must be true or false.', 'type')
}

/** Only the project's creator and the team's admins may change its gates; never an agent, which has to pass them. */
export function requireGatekeeper(
  actor: Actor,
  project: { organizationId: string; createdById: string | null; settings: Settings },
  settings: Settings | undefined,
): void {
  if (settings === undefined || isDeepStrictEqual(gatesOf(settings), gatesOf(project.settings))) return
  if (actor.kind === 'mcp_token')
    throw new AppError(
      'forbidden',
      "An agent cannot change a project's workflow or allowSelfReview. Ask a person to do it.",
    )
  const own = project.createdById !== null && project.createdById === actor.userId
  requireRole(actor, project.organizationId, own ? 'member' : 'admin', "Changing this project's workflow")
}

const gatesOf = ({ workflow, allowSelfReview }: Settings) => [workflow ?? null, allowSelfReview ?? false]
