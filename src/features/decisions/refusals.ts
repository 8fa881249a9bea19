import type { Ctx } from '../../action.ts'
import { member, type Permission, permissionOf, type Refusal, ruleRefusal } from '../../auth/policy.ts'
import { quoteText } from '../../text/quoting.ts'
import { openProjectRefusal } from '../projects/refusals.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import type { Decision, DecisionAction } from './schema.ts'

export const decisionWriteRule = member('decisions:write')

/** Returns why a decision cannot be superseded, or undefined. */
export const supersededRefusal = ({ title, supersededById }: Decision): Refusal | undefined =>
  supersededById
    ? {
        code: 'conflict',
        detail: `${quoteText(title)} is already superseded by ${supersededById}. Supersede that decision instead.`,
      }
    : undefined

/** Returns what the caller may do with a decision. */
export async function decisionPermissions(ctx: Ctx, decision: Decision): Promise<Record<DecisionAction, Permission>> {
  const ask = async (action: DecisionAction, what: string): Promise<Refusal | undefined> =>
    ruleRefusal(ctx.actor, decisionWriteRule, `decisions.${action}`, ctx.app.clock) ??
    (await projects.writerRefusal(ctx, decision, what))
  return {
    update: permissionOf(await ask('update', 'Changing this decision')),
    comment: permissionOf(await ask('comment', 'Discussing this decision')),
    supersede: permissionOf((await ask('supersede', 'Superseding a decision')) ?? supersededRefusal(decision)),
  }
}

/** Returns whether the caller may log a decision in the team, or in this project. */
export const canCreate = (ctx: Ctx, project: Project | undefined): Permission =>
  permissionOf(
    ruleRefusal(ctx.actor, decisionWriteRule, 'decisions.create', ctx.app.clock) ??
      (project && openProjectRefusal(ctx, project, 'Logging a decision')),
  )
