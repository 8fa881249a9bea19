import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../../auth/actor.ts'
import { requireRole } from '../../auth/policy.ts'
import { AppError, invalid } from '../../errors.ts'
import { checkSettings } from '../organizations/service.ts'
import { problemsIn } from './workflow.ts'

type Settings = Record<string, unknown>

/** A project's settings: free, but those that rule its features must make sense. */
export function checkProjectSettings(settings: Settings | undefined): void {
  checkSettings(settings)
  if (settings?.workflow !== undefined) {
    const errors = problemsIn(settings.workflow).map((e) => ({ ...e, pointer: `/settings/workflow${e.pointer}` }))
    if (errors[0]) throw new AppError('invalid', `The workflow cannot work: ${errors[0].message}`, { errors })
  }
  if (settings?.allowSelfReview !== undefined && typeof settings.allowSelfReview !== 'boolean')
    throw invalid('/settings/allowSelfReview', 'allowSelfReview must be true or false.', 'type')
}

/** Who has to pass the gates does not open them: not an agent, and of people only who made the project or manages the team. */
export function requireGatekeeper(
  actor: Actor,
  project: { organizationId: string; createdById: string | null; settings: Settings },
  settings: Settings | undefined,
): void {
  if (settings === undefined || isDeepStrictEqual(gatesOf(settings), gatesOf(project.settings))) return
  if (actor.kind === 'mcp_token')
    throw new AppError(
      'forbidden',
      "An agent cannot set a project's workflow or allowSelfReview. Ask a person, and leave them as they are.",
    )
  const own = project.createdById !== null && project.createdById === actor.userId
  requireRole(actor, project.organizationId, own ? 'member' : 'admin', "Changing this project's workflow")
}

const gatesOf = ({ workflow, allowSelfReview }: Settings) => [workflow ?? null, allowSelfReview ?? false]
