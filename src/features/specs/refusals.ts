import type { Ctx } from '../../action.ts'
import { member, type Permission, permissionOf, type Refusal, ruleRefusal } from '../../auth/policy.ts'
import { quoteText } from '../../text/quoting.ts'
import { openProjectRefusal } from '../projects/refusals.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import type { Spec, SpecDetail } from './schema.ts'

export const specWriteRule = member('specs:write')

/** An archived spec cannot change until it is a draft again. */
export const archivedRefusal = ({ status, title }: Spec): Refusal | undefined =>
  status === 'archived'
    ? { code: 'conflict', detail: `${quoteText(title)} is archived. Set its status to draft first.` }
    : undefined

/** Returns what the caller may do with a spec, for surfaces that offer actions. `reopen`: make it a draft again. */
export async function specPermissions(ctx: Ctx, spec: Spec): Promise<SpecDetail['can']> {
  const byRule =
    ruleRefusal(ctx.actor, specWriteRule, 'specs.update', ctx.app.clock) ??
    (await projects.writerRefusal(ctx, spec, 'Changing this spec'))
  const open: Refusal | undefined =
    spec.status === 'archived' ? undefined : { code: 'conflict', detail: `${quoteText(spec.title)} is not archived.` }
  return { update: permissionOf(byRule ?? archivedRefusal(spec)), reopen: permissionOf(byRule ?? open) }
}

/** Returns whether the caller may create a spec in this project, or without one in any project of the team. */
export const canCreate = (ctx: Ctx, project: Project | undefined): Permission =>
  permissionOf(
    ruleRefusal(ctx.actor, specWriteRule, 'specs.create', ctx.app.clock) ??
      (project && openProjectRefusal(ctx, project, 'Planning in this project')),
  )
