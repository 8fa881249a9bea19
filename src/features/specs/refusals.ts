import type { Ctx } from '../../action.ts'
import { member, type Permission, permissionOf, refusalOf } from '../../auth/policy.ts'
import { openProjectRefusal } from '../projects/refusals.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import type { Spec } from './schema.ts'

/** The rule of every action that changes a spec. */
export const changing = member('specs:write')

/** Returns what the caller may do with a spec, for surfaces that offer actions. */
export const can = async (ctx: Ctx, spec: Spec): Promise<{ update: Permission }> => ({
  update: permissionOf(
    refusalOf(ctx.actor, changing, 'specs.update', ctx.app.clock) ??
      (await projects.writerRefusal(ctx, spec, 'Changing this spec')),
  ),
})

/** Returns whether the caller may create a spec in this project, or in any of the team's if none is given. */
export const canCreate = (ctx: Ctx, project: Project | undefined): Permission =>
  permissionOf(
    refusalOf(ctx.actor, changing, 'specs.create', ctx.app.clock) ??
      (project && openProjectRefusal(ctx, project, 'Planning in this project')),
  )
