import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import * as members from './members.ts'
import { getUsage } from './plans.ts'
import {
  Member,
  MemberPage,
  MemberQuery,
  MemberRemoved,
  MemberRole,
  Organization,
  OrganizationCreate,
  OrganizationPage,
  OrganizationPatch,
  OrganizationQuery,
  TeamUsage,
} from './schema.ts'
import * as organizations from './service.ts'

const byId = object({ id: id() })
const byMember = object({ id: id(), userId: id() })

/** The REST API calls an organization a team. */
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
    .get('/api/team/members', ({ ctx, query }) => members.currentMembers(ctx, query), {
      ...on(members.currentMembers, 'Members of the current team'),
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
      async ({ ctx, body, set }) => respondCreated(set, '/api/teams', await organizations.create(ctx, body)),
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
    .get('/api/teams/:id/usage', ({ ctx, params }) => getUsage(ctx, params), {
      ...on(getUsage, 'Usage of a team and the limits of its plan'),
      params: byId,
      response: TeamUsage,
    })
    .get('/api/teams/:id/members', ({ ctx, params, query }) => members.listMembers(ctx, { ...query, ...params }), {
      ...on(members.listMembers, 'Members of a team'),
      params: byId,
      query: MemberQuery,
      response: MemberPage,
    })
    .patch('/api/teams/:id/members/:userId', ({ ctx, params, body }) => members.setRole(ctx, { ...body, ...params }), {
      ...on(members.setRole, "Change a member's role"),
      params: byMember,
      body: MemberRole,
      response: Member,
    })
    .delete('/api/teams/:id/members/:userId', ({ ctx, params }) => members.removeMember(ctx, params), {
      ...on(members.removeMember, 'Remove a member, or leave'),
      params: byMember,
      response: MemberRemoved,
    })
