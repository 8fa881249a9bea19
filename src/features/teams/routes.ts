import { type Http, on } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
import { AgentPage, AgentQuery } from '../agents/schema.ts'
import { MemberQuery } from '../organizations/schema.ts'
import { ProjectPage, ProjectQuery } from '../projects/schema.ts'
import { SkillPage, SkillQuery } from '../skills/schema.ts'
import { FeaturePage, FeatureQuery } from '../workflow/schema.ts'
import { getActivity } from './activity.ts'
import { getAnalytics } from './analytics.ts'
import * as lists from './lists.ts'
import { getPresence } from './presence.ts'
import { ActivityPage, ActivityQuery, Analytics, AnalyticsQuery, PresencePage } from './schema.ts'

const byId = object({ id: id() })

export const teamRoutes = (http: Http) =>
  http
    .get('/api/teams/:id/projects', ({ ctx, params, query }) => lists.listTeamProjects(ctx, { ...query, ...params }), {
      ...on(lists.listTeamProjects, 'Projects of a team'),
      params: byId,
      query: ProjectQuery,
      response: ProjectPage,
    })
    .get('/api/teams/:id/features', ({ ctx, params, query }) => lists.listTeamFeatures(ctx, { ...query, ...params }), {
      ...on(lists.listTeamFeatures, 'Features of a team in projects that you can see'),
      params: byId,
      query: FeatureQuery,
      response: FeaturePage,
    })
    .get('/api/teams/:id/skills', ({ ctx, params, query }) => lists.listTeamSkills(ctx, { ...query, ...params }), {
      ...on(lists.listTeamSkills, 'Skills of a team'),
      params: byId,
      query: SkillQuery,
      response: SkillPage,
    })
    .get('/api/teams/:id/agents', ({ ctx, params, query }) => lists.listTeamAgents(ctx, { ...query, ...params }), {
      ...on(lists.listTeamAgents, 'Agents of a team'),
      params: byId,
      query: AgentQuery,
      response: AgentPage,
    })
    .get('/api/teams/:id/activity', ({ ctx, params, query }) => getActivity(ctx, { ...query, ...params }), {
      ...on(getActivity, 'Activity of a team'),
      params: byId,
      query: ActivityQuery,
      response: ActivityPage,
    })
    .get('/api/teams/:id/analytics', ({ ctx, params, query }) => getAnalytics(ctx, { ...query, ...params }), {
      ...on(getAnalytics, 'Statistics of a team, in total and by day'),
      params: byId,
      query: AnalyticsQuery,
      response: Analytics,
    })
    .get('/api/teams/:id/presence', ({ ctx, params, query }) => getPresence(ctx, { ...query, ...params }), {
      ...on(getPresence, 'Which members of a team are online'),
      params: byId,
      query: MemberQuery,
      response: PresencePage,
    })
