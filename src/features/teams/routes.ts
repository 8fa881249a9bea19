import { type Http, on } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
import { AgentPage, AgentQuery } from '../agents/schema.ts'
import { MemberQuery } from '../organizations/schema.ts'
import { ProjectPage, ProjectQuery } from '../projects/schema.ts'
import { SkillPage, SkillQuery } from '../skills/schema.ts'
import { FeaturePage, FeatureQuery } from '../workflow/schema.ts'
import { activity } from './activity.ts'
import { analytics } from './analytics.ts'
import * as lists from './lists.ts'
import { presence } from './presence.ts'
import { ActivityPage, ActivityQuery, Analytics, AnalyticsQuery, PresencePage } from './schema.ts'

const byId = object({ id: id() })

export const teamRoutes = (http: Http) =>
  http
    .get('/api/teams/:id/projects', ({ ctx, params, query }) => lists.projects(ctx, { ...query, ...params }), {
      ...on(lists.projects, 'Projects of a team'),
      params: byId,
      query: ProjectQuery,
      response: ProjectPage,
    })
    .get('/api/teams/:id/features', ({ ctx, params, query }) => lists.features(ctx, { ...query, ...params }), {
      ...on(lists.features, 'Features of a team in projects that you can see'),
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
      ...on(activity, 'Activity of a team'),
      params: byId,
      query: ActivityQuery,
      response: ActivityPage,
    })
    .get('/api/teams/:id/analytics', ({ ctx, params, query }) => analytics(ctx, { ...query, ...params }), {
      ...on(analytics, 'Statistics of a team, in total and by day'),
      params: byId,
      query: AnalyticsQuery,
      response: Analytics,
    })
    .get('/api/teams/:id/presence', ({ ctx, params, query }) => presence(ctx, { ...query, ...params }), {
      ...on(presence, 'Which members of a team are online'),
      params: byId,
      query: MemberQuery,
      response: PresencePage,
    })
