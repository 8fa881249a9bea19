import { created, type Http, on } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { AgentPage, AgentQuery } from '../agents/schema.ts'
import { ProjectPage, ProjectQuery } from '../projects/schema.ts'
import { SkillPage, SkillQuery } from '../skills/schema.ts'
import { activity } from '../teams/activity.ts'
import { analytics } from '../teams/analytics.ts'
import * as lists from '../teams/lists.ts'
import { presence } from '../teams/presence.ts'
import { FeaturePage, FeatureQuery } from '../workflow/schema.ts'
import {
  ActivityPage,
  ActivityQuery,
  Analytics,
  AnalyticsQuery,
  Member,
  MemberAdd,
  MemberPage,
  MemberQuery,
  MemberRemoved,
  MemberRole,
  Organization,
  OrganizationCreate,
  OrganizationPage,
  OrganizationPatch,
  OrganizationQuery,
  PresencePage,
} from './schema.ts'
import * as organizations from './service.ts'

const byId = object({ id: id() })
const byMember = object({ id: id(), userId: id() })

/** On the web an organization is called a team. */
export const organizationRoutes = (http: Http) =>
  http
    .get('/api/team', ({ ctx }) => organizations.current(ctx, {}), {
      ...on(organizations.current, 'The current team'),
      response: Organization,
    })
    .patch('/api/team', ({ ctx, body }) => organizations.updateCurrent(ctx, body), {
      ...on(organizations.updateCurrent, 'Change the current team'),
      body: OrganizationPatch,
      response: Organization,
    })
    .get('/api/team/members', ({ ctx, query }) => organizations.currentMembers(ctx, query), {
      ...on(organizations.currentMembers, 'Members of the current team'),
      query: MemberQuery,
      response: MemberPage,
    })
    .get('/api/teams', ({ ctx, query }) => organizations.list(ctx, query), {
      ...on(organizations.list, 'Your teams'),
      query: OrganizationQuery,
      response: OrganizationPage,
    })
    .post(
      '/api/teams',
      async ({ ctx, body, set }) => created(set, '/api/teams', await organizations.create(ctx, body)),
      {
        ...on(organizations.create, 'Create a team'),
        body: OrganizationCreate,
        response: { 201: Organization },
      },
    )
    .get('/api/teams/:id', ({ ctx, params }) => organizations.get(ctx, params), {
      ...on(organizations.get, 'Get a team'),
      params: byId,
      response: Organization,
    })
    .patch('/api/teams/:id', ({ ctx, params, body }) => organizations.update(ctx, { ...body, ...params }), {
      ...on(organizations.update, 'Change a team'),
      params: byId,
      body: OrganizationPatch,
      response: Organization,
    })
    .delete('/api/teams/:id', ({ ctx, params }) => organizations.remove(ctx, params), {
      ...on(organizations.remove, 'Delete a team'),
      params: byId,
      response: Deleted,
    })
    .get('/api/teams/:id/members', ({ ctx, params, query }) => organizations.members(ctx, { ...query, ...params }), {
      ...on(organizations.members, 'Members of a team'),
      params: byId,
      query: MemberQuery,
      response: MemberPage,
    })
    .patch(
      '/api/teams/:id/members/:userId',
      ({ ctx, params, body }) => organizations.setRole(ctx, { ...body, ...params }),
      {
        ...on(organizations.setRole, "Change a member's role"),
        params: byMember,
        body: MemberRole,
        response: Member,
      },
    )
    .delete('/api/teams/:id/members/:userId', ({ ctx, params }) => organizations.removeMember(ctx, params), {
      ...on(organizations.removeMember, 'Remove a member, or leave'),
      params: byMember,
      response: MemberRemoved,
    })
    .get('/api/teams/:id/projects', ({ ctx, params, query }) => lists.projects(ctx, { ...query, ...params }), {
      ...on(lists.projects, 'Projects of a team'),
      params: byId,
      query: ProjectQuery,
      response: ProjectPage,
    })
    .get('/api/teams/:id/features', ({ ctx, params, query }) => lists.features(ctx, { ...query, ...params }), {
      ...on(lists.features, 'Features of a team, in projects that you can see'),
      params: byId,
      query: FeatureQuery,
      response: FeaturePage,
    })
    .get('/api/teams/:id/skills', ({ ctx, params, query }) => lists.skills(ctx, { ...query, ...params }), {
      ...on(lists.skills, 'Skills of a team'),
      params: byId,
      query: SkillQuery,
      response: SkillPage,
    })
    .get('/api/teams/:id/agents', ({ ctx, params, query }) => lists.agents(ctx, { ...query, ...params }), {
      ...on(lists.agents, 'Agents of a team'),
      params: byId,
      query: AgentQuery,
      response: AgentPage,
    })
    .get('/api/teams/:id/activity', ({ ctx, params, query }) => activity(ctx, { ...query, ...params }), {
      ...on(activity, 'What happened in a team'),
      params: byId,
      query: ActivityQuery,
      response: ActivityPage,
    })
    .get('/api/teams/:id/analytics', ({ ctx, params, query }) => analytics(ctx, { ...query, ...params }), {
      ...on(analytics, 'Numbers of a team, also day by day'),
      params: byId,
      query: AnalyticsQuery,
      response: Analytics,
    })
    .get('/api/teams/:id/presence', ({ ctx, params, query }) => presence(ctx, { ...query, ...params }), {
      ...on(presence, 'Who of a team is there'),
      params: byId,
      query: MemberQuery,
      response: PresencePage,
    })
    .post(
      '/api/admin/teams/:id/members',
      async ({ ctx, params, body, set }) =>
        created(set, `/api/teams/${params.id}/members`, await organizations.addMember(ctx, { ...body, ...params })),
      {
        ...on(organizations.addMember, 'Add a user to a team'),
        params: byId,
        body: MemberAdd,
        response: { 201: Member },
      },
    )
