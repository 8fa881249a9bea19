import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { ReportedIssuePage, ReportedIssueQuery } from '../issues/schema.ts'
import { Announcement, NotificationContent } from '../notifications/schema.ts'
import { Member, MemberAdd, MemberRemoved, MemberRole, OrganizationPatch } from '../organizations/schema.ts'
import { audit } from './audit.ts'
import * as operations from './operations.ts'
import { BackupList, BackupMade, Checks, ConfigList, JobList } from './operations-schema.ts'
import {
  AdminTeamDetail,
  AdminTeamPage,
  AdminTeamQuery,
  AdminUser,
  AdminUserDetail,
  AdminUserPage,
  AdminUserQuery,
  AuditPage,
  AuditQuery,
  Impersonate,
  Impersonation,
  ListQuery,
  PasswordReset,
  SentCode,
  Subscription,
  SubscriptionSet,
  Suspend,
  SystemState,
  UserNotePage,
  UserProjectPage,
  UserRole,
  UserSessionPage,
  UserTeamPage,
  UserTeamQuery,
} from './schema.ts'
import { systemState } from './system.ts'
import * as teams from './teams.ts'
import * as actions from './user-actions.ts'
import * as users from './users.ts'

const byId = object({ id: id() })
const byMember = object({ id: id(), user_id: id() })

export const adminRoutes = (http: Http) =>
  http
    .get('/api/admin/users', ({ ctx, query }) => users.list(ctx, query), {
      ...on(users.list, 'All users'),
      query: AdminUserQuery,
      response: AdminUserPage,
    })
    .get('/api/admin/users/:id', ({ ctx, params }) => users.get(ctx, params), {
      ...on(users.get, 'A user, with the number of their records and their sign-in methods'),
      params: byId,
      response: AdminUserDetail,
    })
    .get('/api/admin/users/:id/projects', ({ ctx, params, query }) => users.projectsOf(ctx, { ...query, ...params }), {
      ...on(users.projectsOf, 'Projects that a user created'),
      params: byId,
      query: ListQuery,
      response: UserProjectPage,
    })
    .get('/api/admin/users/:id/notes', ({ ctx, params, query }) => users.notesOf(ctx, { ...query, ...params }), {
      ...on(users.notesOf, 'Titles of the notes that a user wrote'),
      params: byId,
      query: ListQuery,
      response: UserNotePage,
    })
    .get('/api/admin/users/:id/sessions', ({ ctx, params, query }) => users.sessionsOf(ctx, { ...query, ...params }), {
      ...on(users.sessionsOf, 'Login sessions of a user, including ended ones'),
      params: byId,
      query: ListQuery,
      response: UserSessionPage,
    })
    .get('/api/admin/users/:id/teams', ({ ctx, params, query }) => users.teamsOf(ctx, { ...query, ...params }), {
      ...on(users.teamsOf, 'Teams of a user'),
      params: byId,
      query: UserTeamQuery,
      response: UserTeamPage,
    })
    .get('/api/admin/users/:id/issues', ({ ctx, params, query }) => users.issuesOf(ctx, { ...query, ...params }), {
      ...on(users.issuesOf, 'Reports of a user'),
      params: byId,
      query: ReportedIssueQuery,
      response: ReportedIssuePage,
    })
    .patch('/api/admin/users/:id/role', ({ ctx, params, body }) => actions.setRole(ctx, { ...body, ...params }), {
      ...on(actions.setRole, "Change a user's role on this server"),
      params: byId,
      body: UserRole,
      response: AdminUser,
    })
    .patch('/api/admin/users/:id/suspend', ({ ctx, params, body }) => actions.suspend(ctx, { ...body, ...params }), {
      ...on(actions.suspend, 'Suspend a user; sessions, keys and tokens end at once'),
      params: byId,
      body: Suspend,
      response: AdminUser,
    })
    .patch('/api/admin/users/:id/unsuspend', ({ ctx, params }) => actions.unsuspend(ctx, params), {
      ...on(actions.unsuspend, 'Let a suspended user sign in again'),
      params: byId,
      response: AdminUser,
    })
    .get('/api/admin/users/:id/otp', ({ ctx, params }) => actions.readCode(ctx, params), {
      ...on(actions.readCode, 'Read the one-time code that was sent to a user, if mail cannot be sent'),
      params: byId,
      response: SentCode,
    })
    .post('/api/admin/users/:id/password', ({ ctx, params }) => actions.resetPassword(ctx, params), {
      ...on(actions.resetPassword, 'Reset the password of a user; ends all their credentials'),
      params: byId,
      response: PasswordReset,
    })
    .post(
      '/api/admin/users/:id/impersonate',
      async ({ ctx, params, body, set }) => {
        const answer = await actions.impersonate(ctx, { ...body, ...params })
        set.status = 201
        return answer
      },
      {
        ...on(actions.impersonate, 'Act as a user for 30 minutes. The user is notified, and all actions are audited'),
        params: byId,
        body: Impersonate,
        response: { 201: Impersonation },
      },
    )
    .post(
      '/api/admin/users/:id/notify',
      async ({ ctx, params, body, set }) =>
        respondCreated(set, '/api/admin/notifications', await actions.notifyUser(ctx, { ...body, ...params })),
      {
        ...on(actions.notifyUser, 'Notify a user'),
        params: byId,
        body: NotificationContent,
        response: { 201: Announcement },
      },
    )
    .post(
      '/api/admin/users/:id/subscription',
      ({ ctx, params, body }) => actions.setPlan(ctx, { ...body, ...params }),
      {
        ...on(actions.setPlan, "Set the plan of a user's team"),
        params: byId,
        body: Subscription,
        response: SubscriptionSet,
      },
    )
    .get('/api/admin/teams', ({ ctx, query }) => teams.list(ctx, query), {
      ...on(teams.list, 'All teams'),
      query: AdminTeamQuery,
      response: AdminTeamPage,
    })
    .get('/api/admin/teams/:id', ({ ctx, params }) => teams.get(ctx, params), {
      ...on(teams.get, 'A team, with its owners'),
      params: byId,
      response: AdminTeamDetail,
    })
    .patch('/api/admin/teams/:id', ({ ctx, params, body }) => teams.update(ctx, { ...body, ...params }), {
      ...on(teams.update, 'Change any team'),
      params: byId,
      body: OrganizationPatch,
      response: AdminTeamDetail,
    })
    .delete('/api/admin/teams/:id', ({ ctx, params }) => teams.remove(ctx, params), {
      ...on(teams.remove, 'Delete any team'),
      params: byId,
      response: Deleted,
    })
    .post(
      '/api/admin/teams/:id/members',
      async ({ ctx, params, body, set }) =>
        respondCreated(set, `/api/teams/${params.id}/members`, await teams.addMember(ctx, { ...body, ...params })),
      {
        ...on(teams.addMember, 'Add a user to any team; its owners are notified'),
        params: byId,
        body: MemberAdd,
        response: { 201: Member },
      },
    )
    .patch(
      '/api/admin/teams/:id/members/:user_id',
      ({ ctx, params, body }) => teams.setMemberRole(ctx, { ...body, id: params.id, userId: params.user_id }),
      {
        ...on(teams.setMemberRole, "Change a member's role in any team; its owners are notified"),
        params: byMember,
        body: MemberRole,
        response: Member,
      },
    )
    .delete(
      '/api/admin/teams/:id/members/:user_id',
      ({ ctx, params }) => teams.removeMember(ctx, { id: params.id, userId: params.user_id }),
      {
        ...on(teams.removeMember, 'Remove a member from any team; its owners are notified'),
        params: byMember,
        response: MemberRemoved,
      },
    )
    .get('/api/admin/audit', ({ ctx, query }) => audit(ctx, query), {
      ...on(audit, 'Audit log of this server, newest first'),
      query: AuditQuery,
      response: AuditPage,
    })
    .get('/api/admin/doctor', ({ ctx }) => operations.doctor(ctx, {}), {
      ...on(operations.doctor, 'Run the quick checks of `tutti doctor`'),
      response: Checks,
    })
    .get('/api/admin/jobs', ({ ctx }) => operations.listJobs(ctx, {}), {
      ...on(operations.listJobs, 'Background jobs that wait, run or failed; at most 100'),
      response: JobList,
    })
    .get('/api/admin/config', ({ ctx }) => operations.listConfig(ctx, {}), {
      ...on(operations.listConfig, 'The settings in force, without secrets'),
      response: ConfigList,
    })
    .get('/api/admin/backups', ({ ctx }) => operations.listBackups(ctx, {}), {
      ...on(operations.listBackups, 'Backups in the folder for scheduled backups'),
      response: BackupList,
    })
    .post('/api/admin/backups', ({ ctx }) => operations.makeBackup(ctx, {}), {
      ...on(operations.makeBackup, 'Make a backup now'),
      response: BackupMade,
    })
    .get('/api/admin/system', ({ ctx }) => systemState(ctx, {}), {
      ...on(systemState, 'State of this server'),
      response: SystemState,
    })
