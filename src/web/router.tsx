/** The pages and their addresses. Each page is a chunk of its own, loaded when a link to it is pointed at. */
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  type RouteComponent,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { Failed, Missing } from './frame/failed.tsx'
import { Frame } from './frame/frame.tsx'
import { isProblem } from './problem.ts'
import { queries } from './queries.ts'
import { activitySearch } from './routes/activity/search.ts'
import { assistantSearch } from './routes/assistant/search.ts'
import { decisionSearch } from './routes/decisions/search.ts'
import { featureSearch } from './routes/features/search.ts'
import { inboxSearch } from './routes/inbox/search.ts'
import { issueSearch } from './routes/issues/search.ts'
import { memorySearch } from './routes/memories/search.ts'
import { noteSearch } from './routes/notes/search.ts'
import { nowSearch } from './routes/now/search.ts'
import { projectSearch } from './routes/projects/search.ts'
import { findSearch } from './routes/search/search.ts'
import { skillSearch } from './routes/skills/search.ts'
import { specSearch } from './routes/spec/search.ts'
import { specsSearch } from './routes/specs/search.ts'
import { taskSearch } from './routes/tasks/search.ts'
import { trashSearch } from './routes/trash/search.ts'
import { welcomeSearch } from './routes/welcome/search.ts'
import { chooseTeam, currentTeamQuery, loadFrame, type Me, meQuery, type Team, teamsQuery } from './session.ts'

const root = createRootRouteWithContext<{ queries: typeof queries }>()({
  component: Outlet,
  notFoundComponent: Missing,
  errorComponent: Failed,
})

/** What does not depend on the team. */
const ofUser = new Set<unknown>(['me', 'teams', 'current team'])

/** All pages of a signed-in user. `?team=` stays on every link, so that each tab keeps its own team. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  validateSearch: (search: Record<string, unknown>): { team?: string } =>
    typeof search.team === 'string' ? { team: search.team } : {},
  search: { middlewares: [retainSearchParams(['team'])] },
  beforeLoad: async ({ context, search }): Promise<{ me: Me; team: Team }> => {
    try {
      await loadFrame(context.queries, search.team)
      const [me, team] = await Promise.all([
        context.queries.ensureQueryData(meQuery),
        chooseTeam(search.team, {
          teams: () => context.queries.ensureQueryData(teamsQuery),
          current: () => context.queries.ensureQueryData(currentTeamQuery),
          forget: () => context.queries.removeQueries({ predicate: ({ queryKey: [name] }) => !ofUser.has(name) }),
        }),
      ])
      return { me, team }
    } catch (error) {
      // The browser is already on its way to the page where one signs in (queries.ts), so nothing is shown here.
      if (isProblem(error) && error.status === 401) return new Promise(() => undefined)
      throw error
    }
  },
  component: Frame,
  notFoundComponent: Missing,
  errorComponent: Failed,
})

const homeRoute = createRoute({
  getParentRoute: () => inside,
  path: '/',
  component: lazyRouteComponent(() => import('./routes/home/page.tsx'), 'HomePage'),
})

const inboxRoute = createRoute({
  getParentRoute: () => inside,
  path: '/inbox',
  validateSearch: inboxSearch,
  component: lazyRouteComponent(() => import('./routes/inbox/page.tsx'), 'InboxPage'),
})

const activityRoute = createRoute({
  getParentRoute: () => inside,
  path: '/activity',
  validateSearch: activitySearch,
  component: lazyRouteComponent(() => import('./routes/activity/page.tsx'), 'ActivityPage'),
})

const issuesRoute = createRoute({
  getParentRoute: () => inside,
  path: '/issues',
  validateSearch: issueSearch,
  component: lazyRouteComponent(() => import('./routes/issues/page.tsx'), 'IssuesPage'),
})

const projectsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/projects',
  validateSearch: projectSearch,
  component: lazyRouteComponent(() => import('./routes/projects/page.tsx'), 'ProjectsPage'),
})

const trashRoute = createRoute({
  getParentRoute: () => inside,
  path: '/trash',
  validateSearch: trashSearch,
  component: lazyRouteComponent(() => import('./routes/trash/page.tsx'), 'TrashPage'),
})

const projectRoute = createRoute({
  getParentRoute: () => inside,
  path: '/projects/$slug',
  component: lazyRouteComponent(() => import('./routes/project/page.tsx'), 'ProjectPage'),
})

const PlanPage = lazyRouteComponent(() => import('./routes/plan/page.tsx'), 'PlanPage')
/** The key of the task that is open beside the plan. */
const planSearch = ({ open }: Record<string, unknown>): { open?: string } => (typeof open === 'string' ? { open } : {})
const planRoute = createRoute({
  getParentRoute: () => inside,
  path: '/projects/$slug/plan',
  validateSearch: planSearch,
  component: PlanPage,
})
const epicRoute = createRoute({
  getParentRoute: () => inside,
  path: '/projects/$slug/epics/$epicId',
  validateSearch: planSearch,
  component: PlanPage,
})
const storyRoute = createRoute({
  getParentRoute: () => inside,
  path: '/projects/$slug/epics/$epicId/stories/$storyId',
  validateSearch: planSearch,
  component: PlanPage,
})

const tunnelsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/tunnels',
  component: lazyRouteComponent(() => import('./routes/tunnels/page.tsx'), 'TunnelsPage'),
})
const tunnelEntryRoute = createRoute({
  getParentRoute: () => inside,
  path: '/tunnels/enter',
  /** `to`: the address of the service that was opened. */
  validateSearch: ({ to }: Record<string, unknown>): { to?: string } => (typeof to === 'string' ? { to } : {}),
  component: lazyRouteComponent(() => import('./routes/tunnels/enter.tsx'), 'EnterPage'),
})

const notesRoute = createRoute({
  getParentRoute: () => inside,
  path: '/notes',
  validateSearch: noteSearch,
  component: lazyRouteComponent(() => import('./routes/notes/page.tsx'), 'NotesPage'),
})

const noteRoute = createRoute({
  getParentRoute: () => inside,
  path: '/notes/$id',
  /** `edit`: open it for writing. */
  validateSearch: (search: Record<string, unknown>): { edit?: true } => (search.edit === true ? { edit: true } : {}),
  component: lazyRouteComponent(() => import('./routes/note/page.tsx'), 'NotePage'),
})

const memoriesRoute = createRoute({
  getParentRoute: () => inside,
  path: '/memories',
  validateSearch: memorySearch,
  component: lazyRouteComponent(() => import('./routes/memories/page.tsx'), 'MemoriesPage'),
})

const memoryRoute = createRoute({
  getParentRoute: () => inside,
  path: '/memories/$id',
  component: lazyRouteComponent(() => import('./routes/memory/page.tsx'), 'MemoryPage'),
})

const tasksRoute = createRoute({
  getParentRoute: () => inside,
  path: '/projects/$slug/tasks',
  validateSearch: taskSearch,
  component: lazyRouteComponent(() => import('./routes/tasks/page.tsx'), 'TasksPage'),
})

const taskRoute = createRoute({
  getParentRoute: () => inside,
  path: '/tasks/$key',
  component: lazyRouteComponent(() => import('./routes/task/page.tsx'), 'TaskPage'),
})

const tokensRoute = createRoute({
  getParentRoute: () => inside,
  path: '/tokens',
  validateSearch: (search: Record<string, unknown>): { agent?: string } =>
    typeof search.agent === 'string' ? { agent: search.agent } : {},
  component: lazyRouteComponent(() => import('./routes/tokens/page.tsx'), 'TokensPage'),
})

const agentsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/agents',
  validateSearch: ({ status }: Record<string, unknown>): { status?: 'archived' } =>
    status === 'archived' ? { status } : {},
  component: lazyRouteComponent(() => import('./routes/agents/page.tsx'), 'AgentsPage'),
})

const agentRoute = createRoute({
  getParentRoute: () => inside,
  path: '/agents/$id',
  component: lazyRouteComponent(() => import('./routes/agent/page.tsx'), 'AgentPage'),
})

const teamRoute = createRoute({
  getParentRoute: () => inside,
  path: '/team',
  component: lazyRouteComponent(() => import('./routes/team/page.tsx'), 'TeamPage'),
})

const analyticsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/team/analytics',
  validateSearch: ({ days }: Record<string, unknown>): { days?: 7 | 90 } => (days === 7 || days === 90 ? { days } : {}),
  component: lazyRouteComponent(() => import('./routes/analytics/page.tsx'), 'AnalyticsPage'),
})

/** A team by its id, as the server names it in refusals: it is shown as the team of this tab. */
const teamByIdRoute = createRoute({
  getParentRoute: () => inside,
  path: '/teams/$id',
  beforeLoad: async ({ context, params }) => {
    const teams = await context.queries.ensureQueryData(teamsQuery)
    const slug = teams.find(({ id }) => id === params.id)?.slug
    if (!slug) throw notFound()
    throw redirect({ to: '/team', search: { team: slug } })
  },
})

const workspaceRoute = createRoute({
  getParentRoute: () => inside,
  path: '/workspaces/$id',
  component: lazyRouteComponent(() => import('./routes/workspace/page.tsx'), 'WorkspacePage'),
})

const repoRoute = createRoute({
  getParentRoute: () => inside,
  path: '/repos/$id',
  component: lazyRouteComponent(() => import('./routes/repo/page.tsx'), 'RepoPage'),
})

const adminRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin',
  component: lazyRouteComponent(() => import('./routes/admin/state.tsx'), 'StatePage'),
})

const adminUsersRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/users',
  component: lazyRouteComponent(() => import('./routes/admin/users.tsx'), 'UsersPage'),
})

const adminTeamsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/teams',
  component: lazyRouteComponent(() => import('./routes/admin/lists.tsx'), 'TeamsPage'),
})

const adminUserRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/users/$id',
  component: lazyRouteComponent(() => import('./routes/admin/user.tsx'), 'UserPage'),
})

const adminTeamRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/teams/$id',
  component: lazyRouteComponent(() => import('./routes/admin/team.tsx'), 'TeamPage'),
})

const adminOutboxRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/outbox',
  component: lazyRouteComponent(() => import('./routes/admin/lists.tsx'), 'OutboxPage'),
})

const adminAuditRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/audit',
  component: lazyRouteComponent(() => import('./routes/admin/lists.tsx'), 'AuditPage'),
})

const adminIssuesRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/issues',
  component: lazyRouteComponent(() => import('./routes/admin/messages.tsx'), 'IssuesPage'),
})

const adminAnnouncementsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/announcements',
  component: lazyRouteComponent(() => import('./routes/admin/messages.tsx'), 'AnnouncementsPage'),
})

const adminSettingsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/settings',
  component: lazyRouteComponent(() => import('./routes/admin/lists.tsx'), 'SettingsPage'),
})

const adminBackupsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/backups',
  component: lazyRouteComponent(() => import('./routes/admin/lists.tsx'), 'BackupsPage'),
})

const adminSiteRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/site',
  component: lazyRouteComponent(() => import('./routes/site/texts.tsx'), 'SitePage'),
})

const adminCommunityRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/community',
  component: lazyRouteComponent(() => import('./routes/site/moderation.tsx'), 'CommunityPage'),
})

const adminContactRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/contact',
  component: lazyRouteComponent(() => import('./routes/site/moderation.tsx'), 'ContactPage'),
})

const adminSponsorsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/sponsors',
  component: lazyRouteComponent(() => import('./routes/site/sponsors.tsx'), 'SponsorsPage'),
})

const adminMarketplaceRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/marketplace',
  component: lazyRouteComponent(() => import('./routes/site/moderation.tsx'), 'MarketplacePage'),
})

const adminTrackerRoute = createRoute({
  getParentRoute: () => inside,
  path: '/admin/tracker',
  component: lazyRouteComponent(() => import('./routes/site/sponsors.tsx'), 'TrackerPage'),
})

const communityNewRoute = createRoute({
  getParentRoute: () => inside,
  path: '/community/new',
  component: lazyRouteComponent(() => import('./routes/site/community.tsx'), 'NewPostPage'),
})

const communityEditRoute = createRoute({
  getParentRoute: () => inside,
  path: '/community/$id/edit',
  component: lazyRouteComponent(() => import('./routes/site/community.tsx'), 'EditPostPage'),
})

const welcomeRoute = createRoute({
  getParentRoute: () => inside,
  path: '/welcome',
  validateSearch: welcomeSearch,
  component: lazyRouteComponent(() => import('./routes/welcome/page.tsx'), 'WelcomePage'),
})

const featuresRoute = createRoute({
  getParentRoute: () => inside,
  path: '/projects/$slug/features',
  validateSearch: featureSearch,
  component: lazyRouteComponent(() => import('./routes/features/page.tsx'), 'FeaturesPage'),
})

/** Notifications name a feature together with its project. */
const featureInProjectRoute = createRoute({
  getParentRoute: () => inside,
  path: '/projects/$slug/features/$id',
  component: lazyRouteComponent(() => import('./routes/feature/page.tsx'), 'FeaturePage'),
})

const featureRoute = createRoute({
  getParentRoute: () => inside,
  path: '/features/$id',
  component: lazyRouteComponent(() => import('./routes/feature/page.tsx'), 'FeaturePage'),
})

const decisionsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/decisions',
  validateSearch: decisionSearch,
  component: lazyRouteComponent(() => import('./routes/decisions/page.tsx'), 'DecisionsPage'),
})

const decisionRoute = createRoute({
  getParentRoute: () => inside,
  path: '/decisions/$id',
  component: lazyRouteComponent(() => import('./routes/decision/page.tsx'), 'DecisionPage'),
})

const specsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/specs',
  validateSearch: specsSearch,
  component: lazyRouteComponent(() => import('./routes/specs/page.tsx'), 'SpecsPage'),
})

const specRoute = createRoute({
  getParentRoute: () => inside,
  path: '/specs/$id',
  validateSearch: specSearch,
  component: lazyRouteComponent(() => import('./routes/spec/page.tsx'), 'SpecPage'),
})

const skillsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/skills',
  validateSearch: skillSearch,
  component: lazyRouteComponent(() => import('./routes/skills/page.tsx'), 'SkillsPage'),
})

const skillRoute = createRoute({
  getParentRoute: () => inside,
  path: '/skills/$id',
  component: lazyRouteComponent(() => import('./routes/skill/page.tsx'), 'SkillPage'),
})

const nowRoute = createRoute({
  getParentRoute: () => inside,
  path: '/now',
  validateSearch: nowSearch,
  component: lazyRouteComponent(() => import('./routes/now/page.tsx'), 'NowPage'),
})

const sessionsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/sessions',
  component: lazyRouteComponent(() => import('./routes/sessions/page.tsx'), 'SessionsPage'),
})

const sessionRoute = createRoute({
  getParentRoute: () => inside,
  path: '/sessions/$id',
  component: lazyRouteComponent(() => import('./routes/session/page.tsx'), 'SessionPage'),
})

const searchRoute = createRoute({
  getParentRoute: () => inside,
  path: '/search',
  validateSearch: findSearch,
  component: lazyRouteComponent(() => import('./routes/search/page.tsx'), 'SearchPage'),
})

const AssistantPage = lazyRouteComponent(() => import('./routes/assistant/page.tsx'), 'AssistantPage')
const assistantRoute = createRoute({
  getParentRoute: () => inside,
  path: '/assistant',
  validateSearch: assistantSearch,
  component: AssistantPage,
})
const chatRoute = createRoute({ getParentRoute: () => inside, path: '/assistant/$id', component: AssistantPage })

const settingsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/settings',
  component: lazyRouteComponent(() => import('./routes/settings/layout.tsx'), 'SettingsLayout'),
})

const settingsIndexRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/profile', replace: true })
  },
})

/** Every page of the settings is a chunk of its own. */
const ofSettings = <const P extends string>(path: P, load: () => Promise<{ Settings: RouteComponent }>) =>
  createRoute({ getParentRoute: () => settingsRoute, path, component: lazyRouteComponent(load, 'Settings') })

const settingsPages = [
  ofSettings('/profile', () => import('./routes/settings/profile.tsx')),
  ofSettings('/security', () => import('./routes/settings/security.tsx')),
  ofSettings('/passkeys', () => import('./routes/settings/passkeys.tsx')),
  ofSettings('/sessions', () => import('./routes/settings/sessions.tsx')),
  ofSettings('/keys', () => import('./routes/settings/keys.tsx')),
  ofSettings('/accounts', () => import('./routes/settings/accounts.tsx')),
  ofSettings('/integrations', () => import('./routes/settings/integrations.tsx')),
  ofSettings('/preferences', () => import('./routes/settings/preferences.tsx')),
  ofSettings('/notifications', () => import('./routes/settings/notifications.tsx')),
  ofSettings('/data', () => import('./routes/settings/data.tsx')),
] as const

export const router = createRouter({
  routeTree: root.addChildren([
    inside.addChildren([
      homeRoute,
      searchRoute,
      assistantRoute,
      chatRoute,
      inboxRoute,
      activityRoute,
      issuesRoute,
      projectsRoute,
      tasksRoute,
      taskRoute,
      notesRoute,
      noteRoute,
      memoriesRoute,
      memoryRoute,
      projectRoute,
      trashRoute,
      planRoute,
      epicRoute,
      storyRoute,
      tokensRoute,
      agentsRoute,
      agentRoute,
      welcomeRoute,
      teamRoute,
      teamByIdRoute,
      analyticsRoute,
      workspaceRoute,
      repoRoute,
      adminRoute,
      adminUsersRoute,
      adminTeamsRoute,
      adminUserRoute,
      adminTeamRoute,
      adminOutboxRoute,
      adminAuditRoute,
      adminIssuesRoute,
      adminAnnouncementsRoute,
      adminSettingsRoute,
      adminBackupsRoute,
      adminSiteRoute,
      adminCommunityRoute,
      adminContactRoute,
      adminSponsorsRoute,
      adminMarketplaceRoute,
      adminTrackerRoute,
      communityNewRoute,
      communityEditRoute,
      featuresRoute,
      featureInProjectRoute,
      featureRoute,
      decisionsRoute,
      decisionRoute,
      specsRoute,
      specRoute,
      skillsRoute,
      skillRoute,
      nowRoute,
      sessionsRoute,
      sessionRoute,
      tunnelsRoute,
      tunnelEntryRoute,
      settingsRoute.addChildren([settingsIndexRoute, ...settingsPages]),
    ]),
  ]),
  context: { queries },
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
