import type { Ctx } from '../../action.ts'
import {
  member,
  type Permission,
  permissionOf,
  type Refusal,
  roleRefusal,
  roleRefusalOn,
  ruleRefusal,
  throwIfRefused,
} from '../../auth/policy.ts'
import type { WayOut } from '../../errors.ts'
import { quoteName } from '../../text/quoting.ts'
import { ownRefusal, projectNamesFor } from './rows.ts'
import type { Project, projectActions } from './schema.ts'
import { gatekeeperRefusal } from './workflow/workflow-settings.ts'

type Writable = Pick<
  Project,
  'id' | 'key' | 'name' | 'slug' | 'organizationId' | 'workspaceId' | 'visibility' | 'status'
>

/** Returns why the caller may not change records of this project, or undefined if they may. */
export function openProjectRefusal(ctx: Ctx, project: Writable, what: string): Refusal | undefined {
  const byRole = roleRefusalOn(ctx.actor, project, 'member', what)
  if (byRole || project.status !== 'archived') return byRole
  const { name, slug } = projectNamesFor(ctx, project)
  const restore: WayOut = {
    tool: 'archive_project',
    route: `POST /api/projects/${slug}/restore`,
    command: `tutti projects restore ${slug}`,
  }
  return { code: 'conflict', detail: `${quoteName(name)} is archived. Restore it first.`, details: { next: [restore] } }
}

/** Moving a project affects everyone's work, and the old team cannot undo it. */
export const moveRefusal = (
  { actor }: Pick<Ctx, 'actor'>,
  { organizationId }: Pick<Project, 'organizationId'>,
): Refusal | undefined => roleRefusal(actor, organizationId, 'admin', 'Moving a project to another team')

/** Returns what the caller may do with a project, for surfaces that offer actions. */
export const projectPermissions = (ctx: Ctx, project: Project): Record<(typeof projectActions)[number], Permission> => {
  const byPolicy = ruleRefusal(ctx.actor, member('projects:write'), 'projects.update', ctx.app.clock)
  const byRole = (what: string) => permissionOf(byPolicy ?? ownRefusal(ctx, project, what))
  return {
    archive: permissionOf(byPolicy ?? roleRefusalOn(ctx.actor, project, 'member', 'Changing this project')),
    share: byRole('Sharing this project'),
    move: permissionOf(byPolicy ?? moveRefusal(ctx, project)),
    remove: byRole('Deleting this project'),
    gates: permissionOf(byPolicy ?? gatekeeperRefusal(ctx, project)),
    update: permissionOf(byPolicy ?? roleRefusalOn(ctx.actor, project, 'member', 'Changing this project')),
    write: permissionOf(byPolicy ?? openProjectRefusal(ctx, project, 'Changing records of this project')),
  }
}

export const requireOpenProject = (ctx: Ctx, project: Writable, what: string): void =>
  throwIfRefused(openProjectRefusal(ctx, project, what))
