import type { Ctx } from '../../action.ts'
import { type Refusal, refuse, roleRefusalOn } from '../../auth/policy.ts'
import type { WayOut } from '../../errors.ts'
import { namesFor } from './rows.ts'
import type { Project } from './schema.ts'

type Writable = Pick<
  Project,
  'id' | 'key' | 'name' | 'slug' | 'organizationId' | 'workspaceId' | 'visibility' | 'status'
>

/** Returns why the caller may not change records of this project, or undefined if they may. */
export function openProjectRefusal(ctx: Ctx, project: Writable, what: string): Refusal | undefined {
  const byRole = roleRefusalOn(ctx.actor, project, 'member', what)
  if (byRole || project.status !== 'archived') return byRole
  const { name, slug } = namesFor(ctx, project)
  const restore: WayOut = {
    tool: 'archive_project',
    route: `POST /api/projects/${slug}/restore`,
    command: `tutti projects restore ${slug}`,
  }
  return { code: 'conflict', detail: `${name} is archived. Restore it first.`, details: { next: [restore] } }
}

export const requireOpenProject = (ctx: Ctx, project: Writable, what: string): void =>
  refuse(openProjectRefusal(ctx, project, what))
