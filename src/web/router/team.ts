/** Pages of the team: agents, sessions, tokens, tunnels, members, workspaces and repositories. */
import { createRoute, notFound, redirect } from '@tanstack/react-router'
import { teamsQuery } from '../account/session.ts'
import { page, pageWith, signedInRoute } from './inside.ts'

type Search = Record<string, unknown>
const archived = ({ status }: Search): { status?: 'archived' } => (status === 'archived' ? { status } : {})
/** `agent`: whom the new token is for. */
const forAgent = ({ agent }: Search): { agent?: string } => (typeof agent === 'string' ? { agent } : {})
/** `to`: the address of the service that was opened. */
const service = ({ to }: Search): { to?: string } => (typeof to === 'string' ? { to } : {})
const period = ({ days }: Search): { days?: 7 | 90 } => (days === 7 || days === 90 ? { days } : {})

/** A team by its id, as the server names it in refusals: it is shown as the team of this tab. */
const teamByIdRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/teams/$id',
  beforeLoad: async ({ context, params }) => {
    const teams = await context.queries.ensureQueryData(teamsQuery)
    const slug = teams.find(({ id }) => id === params.id)?.slug
    if (!slug) throw notFound()
    throw redirect({ to: '/team', search: { team: slug } })
  },
})

export const teamPages = [
  pageWith('/agents', archived, () => import('../routes/agents/page.tsx'), 'AgentsPage'),
  page('/agents/$id', () => import('../routes/agent/page.tsx'), 'AgentPage'),
  page('/sessions', () => import('../routes/sessions/page.tsx'), 'SessionsPage'),
  page('/sessions/$id', () => import('../routes/session/page.tsx'), 'SessionPage'),
  pageWith('/tokens', forAgent, () => import('../routes/tokens/page.tsx'), 'TokensPage'),
  page('/tunnels', () => import('../routes/tunnels/page.tsx'), 'TunnelsPage'),
  pageWith('/tunnels/enter', service, () => import('../routes/tunnels/enter.tsx'), 'EnterPage'),
  page('/tunnels/$id', () => import('../routes/tunnel/page.tsx'), 'TunnelPage'),
  page('/team', () => import('../routes/team/page.tsx'), 'TeamPage'),
  pageWith('/team/analytics', period, () => import('../routes/analytics/page.tsx'), 'AnalyticsPage'),
  teamByIdRoute,
  page('/workspaces/$id', () => import('../routes/workspace/page.tsx'), 'WorkspacePage'),
  page('/workspace-invites/$id', () => import('../routes/workspace-invite/page.tsx'), 'WorkspaceInvitePage'),
  page('/repos/$id', () => import('../routes/repo/page.tsx'), 'RepoPage'),
] as const
