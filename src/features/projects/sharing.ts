import { and, eq, isNull } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { member, wholeTeam } from '../../auth/policy.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { organizations } from '../organizations/table.ts'
import { workspaces, workspaceTeams } from '../workspaces/table.ts'
import { projectShared, projectUnshared } from './events.ts'
import { changeProject, findOwnProject, projectEvent } from './rows.ts'
import { type Project, type ProjectShare, visibilities } from './schema.ts'
import { projects } from './table.ts'

type Visibility = Project['visibility']

const visibilityRank = (visibility: Visibility): number => visibilities.indexOf(visibility)

export const share = write(
  'projects.share',
  wholeTeam(member('projects:write')),
  async (ctx, { ref, organizationId, ...to }: ProjectShare & { ref: string }): Promise<Project> => {
    if (organizationId !== undefined) throw sharingCannotMoveError(ref, organizationId)
    const before = await findOwnProject(ctx, ref, 'Sharing this project')
    if (to.workspaceId) await requireWritableWorkspace(ctx, to.workspaceId, before.organizationId)
    const inside = to.workspaceId === undefined ? {} : { workspaceId: to.workspaceId }
    // Moving into or out of a workspace does not change the visibility by itself.
    const visibility = to.visibility ?? (to.workspaceId === undefined ? 'team' : before.visibility)
    const workspaceId = to.workspaceId === undefined ? before.workspaceId : to.workspaceId
    const former =
      (await readFormerVisibility(ctx, before)) ??
      (before.workspaceId === null ? before.visibility : defaultFormerVisibility(before))
    const formerVisibility = formerVisibilityAfter(former, visibility, workspaceId)
    const shared = await changeProject(ctx, before, { visibility, formerVisibility, ...inside })
    ctx.emit(projectShared, projectEvent(shared, { visibility, ...inside }))
    return shared
  },
  { versioned: true },
)

/** Sharing with a team used to move the project there permanently, which no one expects of "share". */
const sharingCannotMoveError = (ref: string, organizationId: string): AppError =>
  invalid(
    '/organizationId',
    'Sharing does not move a project to another team. To let another team take part, put the project into a ' +
      'workspace that both teams share. To hand the project over to another team, move it.',
    'invalid',
    [
      { route: 'POST /api/workspaces/:id/invites', command: 'tutti workspaces invite <workspace> <email>' },
      { route: `PATCH /api/projects/${ref}`, command: `tutti projects move ${ref} ${organizationId}` },
    ],
  )

async function readFormerVisibility(ctx: Ctx, { id }: Project): Promise<Visibility | null> {
  const [found] = await ctx.db.select({ former: projects.formerVisibility }).from(projects).where(eq(projects.id, id))
  return found?.former ?? null
}

/** The visibility to restore if the former one is unknown: team, or private for a private project. */
const defaultFormerVisibility = ({ visibility }: Project): Visibility => (visibility === 'private' ? 'private' : 'team')

/**
 * Returns the visibility to restore later, or null if the project is not shared after this change. A change to a
 * narrower visibility also narrows the one to restore, so that unsharing never shows the project to more people.
 */
function formerVisibilityAfter(former: Visibility, next: Visibility, workspaceId: string | null): Visibility | null {
  if (workspaceId === null && visibilityRank(next) <= visibilityRank(former)) return null
  return visibilityRank(next) < visibilityRank(former) ? next : former
}

/** Requires that the team may write in the workspace and that it is not archived. */
async function requireWritableWorkspace(ctx: Ctx, workspaceId: string, organizationId: string): Promise<void> {
  const found = await findTeamRole(ctx, workspaceId, organizationId)
  if (!found) throw notFound('workspace', workspaceId)
  if (found.role === 'viewer')
    throw new AppError('forbidden', 'Your team has read-only access to this workspace. Ask the owning team for more.')
  if (found.status === 'archived') throw new AppError('conflict', 'This workspace is archived. Reactivate it first.')
}

/** Returns the role of a team in a workspace, and the status of the workspace. */
export async function findTeamRole(ctx: Ctx, workspaceId: string, organizationId: string) {
  const [found] = await ctx.db
    .select({ status: workspaces.status, role: workspaceTeams.role })
    .from(workspaces)
    .innerJoin(workspaceTeams, eq(workspaceTeams.workspaceId, workspaces.id))
    .innerJoin(organizations, and(eq(organizations.id, workspaces.organizationId), isNull(organizations.deletedAt)))
    .where(
      and(
        eq(workspaces.id, workspaceId),
        eq(workspaceTeams.organizationId, organizationId),
        isNull(workspaces.deletedAt),
      ),
    )
    // The lock keeps the workspace from losing the team, or being archived, before the project is added. The workspace
    // is locked first, as in all changes of its teams; another order could deadlock.
    .for('share', { of: [workspaces, workspaceTeams] })
  return found
}

/**
 * Restores the visibility from before the project was shared, and takes it out of its workspace, so that sharing it
 * with the team later does not show it to other teams again.
 */
export const unshare = write(
  'projects.unshare',
  wholeTeam(member('projects:write')),
  async (ctx, { ref }: { ref: string }): Promise<Project> => {
    const before = await findOwnProject(ctx, ref, 'Unsharing this project')
    const visibility = (await readFormerVisibility(ctx, before)) ?? defaultFormerVisibility(before)
    const after = await changeProject(ctx, before, { visibility, formerVisibility: null, workspaceId: null })
    ctx.emit(projectUnshared, projectEvent(after))
    return after
  },
  { idempotent: true, versioned: true },
)
