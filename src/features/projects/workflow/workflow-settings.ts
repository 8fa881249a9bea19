import { isDeepStrictEqual } from 'node:util'
import type { Ctx } from '../../../action.ts'
import { atBrowser, type Refusal, ruleRefusal, throwIfRefused } from '../../../auth/policy.ts'
import { AppError, invalid } from '../../../errors.ts'
import { checkSettings } from '../../organizations/service.ts'
import { ownRefusal } from '../rows.ts'
import { workflowProblems } from './workflow.ts'

type Settings = Record<string, unknown>

/**
 * `settings.acceptance`: who cannot complete a task with open acceptance criteria. `enforce`: everyone; `agents`, the
 * default: agents; `warn`: no one. Projects that are older than the setting have `warn`.
 */
const acceptanceRules = ['enforce', 'agents', 'warn'] as const
export type AcceptanceRule = (typeof acceptanceRules)[number]
export const DEFAULT_ACCEPTANCE: AcceptanceRule = 'agents'

/** A project may have any settings, but `workflow`, `allowSelfReview` and `acceptance` must be valid. */
export function checkProjectSettings(settings: Settings | undefined): void {
  checkSettings(settings)
  if (settings?.workflow !== undefined) {
    const errors = workflowProblems(settings.workflow).map((e) => ({ ...e, pointer: `/settings/workflow${e.pointer}` }))
    if (errors[0]) throw new AppError('invalid', `The workflow is invalid: ${errors[0].message}`, { errors })
  }
  if (settings?.allowSelfReview !== undefined && typeof settings.allowSelfReview !== 'boolean')
    throw invalid('/settings/allowSelfReview', 'allowSelfReview must be true or false.', 'type')
  if (settings?.acceptance !== undefined && !acceptanceRules.some((rule) => rule === settings.acceptance))
    throw invalid('/settings/acceptance', `acceptance must be one of: ${acceptanceRules.join(', ')}.`, 'enum')
}

/**
 * Returns the new settings, with the former `acceptance` if they do not contain one: older clients send all other
 * settings and must not change this one.
 */
export const withFormerAcceptance = (settings: Settings, { acceptance }: Settings): Settings =>
  settings.acceptance === undefined && acceptance !== undefined ? { ...settings, acceptance } : settings

/**
 * Only the project's creator and the team's admins can change its gates, and only at a browser: agents, which have to
 * pass the gates, use the keys and devices of the same people.
 */
export function requireGatekeeper(
  { actor, app }: Ctx,
  project: { id?: string; organizationId: string; createdById: string | null; settings: Settings },
  settings: Settings | undefined,
): void {
  if (settings === undefined || isDeepStrictEqual(gateSettingsOf(settings), gateSettingsOf(project.settings))) return
  throwIfRefused(gatekeeperRefusal({ actor, app }, project))
}

/**
 * A credential that is limited to projects sees the skills named in their `settings.skills`, so it must not change that
 * list.
 */
export function requireSameSkills(ctx: Ctx, before: Settings, after: Settings | undefined): void {
  if (after !== undefined && !isDeepStrictEqual(before.skills, after.skills))
    requireWholeTeam(ctx, 'Changing settings.skills of a project')
}

/** Throws for a credential that is limited to projects: keys and skills belong to the whole team. */
export function requireWholeTeam({ actor }: Ctx, what: string): void {
  if (actor.projects)
    throw new AppError('forbidden', `${what} cannot be done with a credential that is limited to projects.`)
}

/** Returns why the caller may not change the gates of a project, or undefined. */
export function gatekeeperRefusal(
  { actor, app }: Pick<Ctx, 'actor' | 'app'>,
  project: Pick<Parameters<typeof requireGatekeeper>[1], 'id' | 'organizationId' | 'createdById'>,
): Refusal | undefined {
  const page = project.id ? `/projects/${project.id}` : '/projects'
  const what = "Changing a project's workflow, acceptance or allowSelfReview"
  return (
    ruleRefusal(actor, atBrowser(page), what, app.clock) ??
    ownRefusal({ actor }, project, "Changing this project's workflow")
  )
}

const gateSettingsOf = ({ workflow, allowSelfReview, acceptance }: Settings) => [
  workflow ?? null,
  allowSelfReview ?? false,
  acceptance ?? DEFAULT_ACCEPTANCE,
]
