import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { isInPerson } from '../../auth/actor.ts'
import {
  atBrowser,
  member,
  type Permission,
  permissionOf,
  type Refusal,
  type Rule,
  roleRefusal,
  ruleRefusal,
} from '../../auth/policy.ts'
import { memberships } from '../organizations/table.ts'
import { openProjectRefusal } from '../projects/refusals.ts'
import type { Project } from '../projects/schema.ts'
import { stepFor, type Verdict, workflowOf } from '../projects/workflow/workflow.ts'
import type { Row } from './rows.ts'
import type { FeatureAction } from './schema.ts'
import { featureEvidence } from './table.ts'

/** The rules of the actions; permissions and actions both use them. */
export const reviewRule: Rule = { ...member('features:write'), own: true }
export const overrideRule = atBrowser('/features/{id}')
export const evidenceVerifyRule = atBrowser('/features/{id}')
const featureWriteRule = member('features:write')

/** Returns why the caller may not change features of this project, or undefined. */
export const writingRefusal = (ctx: Ctx, project: Project): Refusal | undefined =>
  openProjectRefusal(ctx, project, 'Changing features of this project')

/** Returns why the caller may not create a feature in this project, or without one in any project of the team. */
export const creationRefusal = (ctx: Ctx, project: Project | undefined): Refusal | undefined =>
  ruleRefusal(ctx.actor, featureWriteRule, 'workflow.create', ctx.app.clock) ??
  (project && writingRefusal(ctx, project))

/**
 * Returns why the caller may not review their own work, or undefined. Another agent of the author may request changes,
 * but not approve. The author is who submitted the evidence or, without evidence, created the feature. People may
 * review work of their agent, and also their own work if the team has no other member; both only in a browser, where an
 * agent cannot sign in.
 */
export async function authorRefusal(
  ctx: Ctx,
  project: Project,
  { id, createdById }: Row,
  verdict: Verdict,
): Promise<Refusal | undefined> {
  if (project.settings.allowSelfReview === true) return undefined
  const brought = await ctx.db
    .selectDistinct({ type: featureEvidence.actorType, id: featureEvidence.actorId, name: featureEvidence.actorName })
    .from(featureEvidence)
    .where(eq(featureEvidence.featureId, id))
  const authors = brought.length > 0 ? brought : [{ type: 'user' as const, id: createdById, name: '' }]
  const own = authors.filter((author) => author.id === ctx.actor.userId)
  if (own.length === 0) return undefined
  const { agent } = ctx.actor
  const isOtherAgent = agent !== undefined && !own.some(({ type, name }) => type === 'agent' && name === agent.name)
  if (isOtherAgent && verdict === 'changes_requested') return undefined
  const byAgent = own.every(({ type }) => type === 'agent')
  const mayInPerson = byAgent || (await isAlone(ctx, project.organizationId))
  if (mayInPerson && isInPerson(ctx.actor)) return undefined
  const next = [{ page: mayInPerson ? `/features/${id}` : `/projects/${project.id}` }]
  if (!mayInPerson)
    return {
      code: 'forbidden',
      detail:
        'Authors cannot review their own work. Ask someone else, or an admin to set allowSelfReview in the project.',
      details: { next },
    }
  const detail = isOtherAgent
    ? 'An agent cannot approve the work of its own person or of their other agents. It can request changes.'
    : byAgent
      ? 'You can review the work of your own agent only in person, at a browser.'
      : 'Your team has no other member, so you can review your own work, but only in person, at a browser.'
  return { code: 'forbidden', detail, details: { next } }
}

async function isAlone(ctx: Ctx, organizationId: string): Promise<boolean> {
  const members = await ctx.db
    .select({ id: memberships.userId })
    .from(memberships)
    .where(eq(memberships.organizationId, organizationId))
    .limit(2)
  return members.length === 1
}

async function reviewRefusal(ctx: Ctx, project: Project, row: Row): Promise<Refusal | undefined> {
  const found = stepFor(workflowOf(project), row, { by: 'approved' })
  return (
    openProjectRefusal(ctx, project, 'Reviewing') ??
    ('refused' in found
      ? { code: 'conflict', detail: found.refused }
      : await authorRefusal(ctx, project, row, 'approved'))
  )
}

/** A feature without a next step cannot advance. `next` reports what its gate still needs. */
function advanceRefusal(project: Project, row: Row): Refusal | undefined {
  const found = stepFor(workflowOf(project), row, { by: 'advance' })
  return 'refused' in found ? { code: 'conflict', detail: found.refused } : undefined
}

const overrideRefusal = (ctx: Ctx, project: Project): Refusal | undefined =>
  roleRefusal(ctx.actor, project.organizationId, 'admin', 'Overriding a gate') ??
  openProjectRefusal(ctx, project, 'Overriding a gate')

/** Returns what the caller may do with a feature, for surfaces that offer actions. */
export async function featurePermissions(
  ctx: Ctx,
  project: Project,
  row: Row,
): Promise<Record<FeatureAction, Permission>> {
  const { clock } = ctx.app
  const writing = writingRefusal(ctx, project)
  const change = (action: 'update' | 'advance' | 'remove'): Refusal | undefined =>
    ruleRefusal(ctx.actor, featureWriteRule, `workflow.${action}`, clock) ?? writing
  return {
    update: permissionOf(change('update')),
    advance: permissionOf(change('advance') ?? advanceRefusal(project, row)),
    remove: permissionOf(change('remove')),
    verify: permissionOf(ruleRefusal(ctx.actor, evidenceVerifyRule, 'workflow.verify', clock) ?? writing),
    review: permissionOf(
      ruleRefusal(ctx.actor, reviewRule, 'workflow.review', clock) ?? (await reviewRefusal(ctx, project, row)),
    ),
    override: permissionOf(
      ruleRefusal(ctx.actor, overrideRule, 'workflow.override', clock) ?? overrideRefusal(ctx, project),
    ),
  }
}
