/** Pages of the administrators, and the forms of the public site. */
import { lazyPage } from '../lazy.ts'
import { page } from './inside.ts'

export const admin = [
  page(
    '/admin',
    lazyPage(() => import('../routes/admin/state.tsx'), 'StatePage'),
  ),
  page(
    '/admin/users',
    lazyPage(() => import('../routes/admin/users.tsx'), 'UsersPage'),
  ),
  page(
    '/admin/users/$id',
    lazyPage(() => import('../routes/admin/user.tsx'), 'UserPage'),
  ),
  page(
    '/admin/teams',
    lazyPage(() => import('../routes/admin/lists.tsx'), 'TeamsPage'),
  ),
  page(
    '/admin/teams/$id',
    lazyPage(() => import('../routes/admin/team.tsx'), 'TeamPage'),
  ),
  page(
    '/admin/outbox',
    lazyPage(() => import('../routes/admin/lists.tsx'), 'OutboxPage'),
  ),
  page(
    '/admin/audit',
    lazyPage(() => import('../routes/admin/lists.tsx'), 'AuditPage'),
  ),
  page(
    '/admin/issues',
    lazyPage(() => import('../routes/admin/messages.tsx'), 'IssuesPage'),
  ),
  page(
    '/admin/announcements',
    lazyPage(() => import('../routes/admin/messages.tsx'), 'AnnouncementsPage'),
  ),
  page(
    '/admin/settings',
    lazyPage(() => import('../routes/admin/lists.tsx'), 'SettingsPage'),
  ),
  page(
    '/admin/backups',
    lazyPage(() => import('../routes/admin/lists.tsx'), 'BackupsPage'),
  ),
  page(
    '/admin/programs',
    lazyPage(() => import('../routes/admin/programs.tsx'), 'ProgramsPage'),
  ),
  page(
    '/admin/site',
    lazyPage(() => import('../routes/site/texts.tsx'), 'SitePage'),
  ),
  page(
    '/admin/community',
    lazyPage(() => import('../routes/site/moderation.tsx'), 'CommunityPage'),
  ),
  page(
    '/admin/contact',
    lazyPage(() => import('../routes/site/moderation.tsx'), 'ContactPage'),
  ),
  page(
    '/admin/sponsors',
    lazyPage(() => import('../routes/site/sponsors.tsx'), 'SponsorsPage'),
  ),
  page(
    '/admin/marketplace',
    lazyPage(() => import('../routes/site/moderation.tsx'), 'MarketplacePage'),
  ),
  page(
    '/admin/tracker',
    lazyPage(() => import('../routes/site/sponsors.tsx'), 'TrackerPage'),
  ),
  page(
    '/community/new',
    lazyPage(() => import('../routes/site/community.tsx'), 'NewPostPage'),
  ),
  page(
    '/community/$id/edit',
    lazyPage(() => import('../routes/site/community.tsx'), 'EditPostPage'),
  ),
] as const
