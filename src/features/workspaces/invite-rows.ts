import { eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { type Keyset, keyset } from '../../records/page.ts'
import { wipeMail } from '../mail/service.ts'
import { invitesAmong } from '../notifications/hooks.ts'
import { settleNotifications } from '../notifications/service.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import type { workspaceInviteAccepted, workspaceInviteCancelled, workspaceInviteDeclined } from './events.ts'
import type { WorkspaceInvite, WorkspaceInvitePage, WorkspaceInviteQuery } from './invite-schema.ts'
import { workspaceInvites, workspaces } from './table.ts'

/** Queries and updates of workspace invitations that both sides share. */

export const isPending = eq(workspaceInvites.status, 'pending')
export const isInviteSentTo = (email: string) => eq(sql`lower(${workspaceInvites.email})`, email.toLowerCase())

export const invitePage = (id: string): string => `/workspace-invites/${id}`

/** Contains the workspace: a new mail erases older ones of its kind, but not those about another workspace. */
export const mailKind = (workspaceId: string): string => `workspace-invite:${workspaceId}`

const statusAt = (now: string) =>
  sql<WorkspaceInvite['status']>`case when ${isPending} and ${workspaceInvites.expiresAt} <= ${now}::timestamptz
    then 'expired' else ${workspaceInvites.status} end`

/** Selects invitations whose workspace and owning team exist. */
export async function selectInvites(
  ctx: Ctx,
  where: SQL | undefined,
  page?: Pick<Keyset, 'orderBy' | 'limit'>,
): Promise<WorkspaceInvite[]> {
  const rows = await ctx.db
    .select({
      id: workspaceInvites.id,
      createdAt: workspaceInvites.createdAt,
      updatedAt: workspaceInvites.updatedAt,
      version: workspaceInvites.version,
      workspace: { id: workspaces.id, name: workspaces.name, description: workspaces.description },
      organization: { id: organizations.id, name: organizations.name },
      email: workspaceInvites.email,
      role: workspaceInvites.role,
      status: statusAt(ctx.now),
      invitedBy: { id: users.id, name: users.name },
      expiresAt: workspaceInvites.expiresAt,
      closedAt: workspaceInvites.closedAt,
      teamId: workspaceInvites.teamId,
      teamName: sql<string | null>`(select t.name from ${organizations} t
        where t.id = ${workspaceInvites.teamId} and t.deleted_at is null)`,
    })
    .from(workspaceInvites)
    .innerJoin(workspaces, and(eq(workspaces.id, workspaceInvites.workspaceId), isNull(workspaces.deletedAt)))
    .innerJoin(organizations, and(eq(organizations.id, workspaces.organizationId), isNull(organizations.deletedAt)))
    .leftJoin(users, eq(users.id, workspaceInvites.invitedById))
    .where(where)
    .orderBy(...(page?.orderBy ?? []))
    .limit(page?.limit ?? 1)
  return rows.map(({ workspace, organization, teamId, teamName, ...row }) => ({
    ...row,
    workspace: { ...workspace, organization },
    team: teamId && teamName !== null ? { id: teamId, name: teamName } : null,
  }))
}

export async function listInvites(
  ctx: Ctx,
  { status = 'pending', ...query }: WorkspaceInviteQuery,
  whose: SQL,
): Promise<WorkspaceInvitePage> {
  const page = keyset({ createdAt: workspaceInvites.createdAt }, workspaceInvites.id, query, { sort: 'createdAt' })
  const existing = sql`exists (select 1 from ${workspaces} w join ${organizations} o on o.id = w.organization_id
    where w.id = ${workspaceInvites.workspaceId} and w.deleted_at is null and o.deleted_at is null)`
  const filters = and(whose, eq(statusAt(ctx.now), status), existing)
  const rows = await selectInvites(ctx, page.where(filters), page)
  return page.page(rows, query.total ? await ctx.db.$count(workspaceInvites, filters) : undefined)
}

export const inviteGoneError = () =>
  new AppError(
    'gone',
    'This invitation was answered or cancelled, or has expired. Ask the team that sent it for a new one.',
  )

type Outcome =
  | { status: 'accepted'; teamId: string; event: typeof workspaceInviteAccepted }
  | { status: 'declined'; event: typeof workspaceInviteDeclined }
  | { status: 'cancelled'; event: typeof workspaceInviteCancelled }

/** Closes a pending invitation and erases its mail. Of concurrent answers exactly one wins. */
export async function closeInvite(ctx: Ctx, invite: WorkspaceInvite, { event, ...set }: Outcome): Promise<void> {
  const { id, email, role, workspace } = invite
  const closed = await ctx.db
    .update(workspaceInvites)
    .set({ ...set, closedAt: ctx.now, updatedAt: ctx.now, version: sql`${workspaceInvites.version} + 1` })
    .where(and(eq(workspaceInvites.id, id), isPending))
    .returning({ id: workspaceInvites.id })
  if (closed.length === 0) throw inviteGoneError()
  await wipeMail(ctx, email, mailKind(workspace.id))
  await settleNotifications(ctx, { id, reasons: ['invite'] })
  const data = { name: workspace.name, email, role }
  ctx.emit(event, { subjectId: id, organizationId: workspace.organization.id, data })
}

/** Pending invitations as the subjects of notifications. */
export const workspaceInvitesAsSubjects = invitesAmong.handle(async (ctx, { ids }) => {
  const rows = await selectInvites(ctx, and(inArray(workspaceInvites.id, [...ids]), isPending), {
    orderBy: [],
    limit: ids.length,
  })
  return rows.map(({ id, workspace }) => ({
    kind: 'workspace_invite',
    id,
    key: null,
    title: workspace.name,
    status: null,
    path: invitePage(id),
    team: null,
  }))
})
