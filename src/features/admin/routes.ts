import { created, type Http, on } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { ReportedIssuePage, ReportedIssueQuery } from '../issues/schema.ts'
import { Announcement, NotificationContent } from '../notifications/schema.ts'
import { Member, MemberRemoved, MemberRole, OrganizationPatch } from '../organizations/schema.ts'
import { audit } from './audit.ts'
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
import { system } from './system.ts'
import * as teams from './teams.ts'
import * as powers from './user-actions.ts'
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
      ...on(users.get, 'A user, with what he has and how he can sign in'),
      params: byId,
      response: AdminUserDetail,
    })
    .get('/api/admin/users/:id/projects', ({ ctx, params, query }) => users.projectsOf(ctx, { ...query, ...params }), {
      ...on(users.projectsOf, 'Projects that a user made'),
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
      ...on(users.sessionsOf, 'Login sessions of a user, ended ones too'),
      params: byId,
      query: ListQuery,
      response: UserSessionPage,
    })
    .get('/api/admin/users/:id/teams', ({ ctx, params, query }) => users.teamsOf(ctx, { ...query, ...params }), {
      ...on(users.teamsOf, 'Teams that a user is in'),
      params: byId,
      query: UserTeamQuery,
      response: UserTeamPage,
    })
    .get('/api/admin/users/:id/issues', ({ ctx, params, query }) => users.issuesOf(ctx, { ...query, ...params }), {
      ...on(users.issuesOf, 'What a user has reported'),
      params: byId,
      query: ReportedIssueQuery,
      response: ReportedIssuePage,
    })
    .patch('/api/admin/users/:id/role', ({ ctx, params, body }) => powers.setRole(ctx, { ...body, ...params }), {
      ...on(powers.setRole, "Change a user's role on this instance"),
      params: byId,
      body: UserRole,
      response: AdminUser,
    })
    .patch('/api/admin/users/:id/suspend', ({ ctx, params, body }) => powers.suspend(ctx, { ...body, ...params }), {
      ...on(powers.suspend, 'Lock a user out; sessions, keys and tokens end at once'),
      params: byId,
      body: Suspend,
      response: AdminUser,
    })
    .patch('/api/admin/users/:id/unsuspend', ({ ctx, params }) => powers.unsuspend(ctx, params), {
      ...on(powers.unsuspend, 'Let a suspended user sign in again'),
      params: byId,
      response: AdminUser,
    })
    .get('/api/admin/users/:id/otp', ({ ctx, params }) => powers.readCode(ctx, params), {
      ...on(powers.readCode, 'The one-time code that was sent to a user, where mail cannot be sent'),
      params: byId,
      response: SentCode,
    })
    .post('/api/admin/users/:id/password', ({ ctx, params }) => powers.resetPassword(ctx, params), {
      ...on(powers.resetPassword, 'Make a user choose a new password; everything else ends'),
      params: byId,
      response: PasswordReset,
    })
    .post(
      '/api/admin/users/:id/impersonate',
      async ({ ctx, params, body, set }) => {
        const answer = await powers.impersonate(ctx, { ...body, ...params })
        set.status = 201
        return answer
      },
      {
        ...on(powers.impersonate, 'Act as a user for 30 minutes; he is told, and everything is audited'),
        params: byId,
        body: Impersonate,
        response: { 201: Impersonation },
      },
    )
    .post(
      '/api/admin/users/:id/notify',
      async ({ ctx, params, body, set }) =>
        created(set, '/api/admin/notifications', await powers.notifyUser(ctx, { ...body, ...params })),
      {
        ...on(powers.notifyUser, 'Notify a user'),
        params: byId,
        body: NotificationContent,
        response: { 201: Announcement },
      },
    )
    .post('/api/admin/users/:id/subscription', ({ ctx, params, body }) => powers.setPlan(ctx, { ...body, ...params }), {
      ...on(powers.setPlan, "Set the plan of a user's team"),
      params: byId,
      body: Subscription,
      response: SubscriptionSet,
    })
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
    .patch(
      '/api/admin/teams/:id/members/:user_id',
      ({ ctx, params, body }) => teams.setMemberRole(ctx, { ...body, id: params.id, userId: params.user_id }),
      {
        ...on(teams.setMemberRole, "Change a member's role in any team"),
        params: byMember,
        body: MemberRole,
        response: Member,
      },
    )
    .delete(
      '/api/admin/teams/:id/members/:user_id',
      ({ ctx, params }) => teams.removeMember(ctx, { id: params.id, userId: params.user_id }),
      { ...on(teams.removeMember, 'Remove a member from any team'), params: byMember, response: MemberRemoved },
    )
    .get('/api/admin/audit', ({ ctx, query }) => audit(ctx, query), {
      ...on(audit, 'Everything that was done on this instance, newest first'),
      query: AuditQuery,
      response: AuditPage,
    })
    .get('/api/admin/system', ({ ctx }) => system(ctx, {}), {
      ...on(system, 'How the instance is doing'),
      response: SystemState,
    })
