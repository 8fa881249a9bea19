import type { Ctx } from '../../action.ts'
import { requireRoleOn } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import type { Project } from './schema.ts'

/** Refuses who may not change a project, and everybody while it is archived. */
export function requireOpenProject(
  ctx: Ctx,
  project: Pick<Project, 'name' | 'organizationId' | 'workspaceId' | 'visibility' | 'status'>,
  what: string,
): void {
  requireRoleOn(ctx.actor, project, 'member', what)
  if (project.status === 'archived')
    throw new AppError('conflict', `${project.name} is archived. Restore it first: archive_project with restore.`)
}
