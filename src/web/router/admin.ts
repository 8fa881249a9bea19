/** Pages of the administrators, and the forms of the public site. */
import { page } from './inside.ts'

export const adminPages = [
  page('/admin', () => import('../routes/admin/state.tsx'), 'StatePage'),
  page('/admin/users', () => import('../routes/admin/users.tsx'), 'UsersPage'),
  page('/admin/users/$id', () => import('../routes/admin/user.tsx'), 'UserPage'),
  page('/admin/teams', () => import('../routes/admin/lists.tsx'), 'TeamsPage'),
  page('/admin/teams/$id', () => import('../routes/admin/team.tsx'), 'TeamPage'),
  page('/admin/outbox', () => import('../routes/admin/lists.tsx'), 'OutboxPage'),
  page('/admin/audit', () => import('../routes/admin/audit.tsx'), 'AuditPage'),
  page('/admin/issues', () => import('../routes/admin/reports.tsx'), 'IssuesPage'),
  page('/admin/announcements', () => import('../routes/admin/reports.tsx'), 'AnnouncementsPage'),
  page('/admin/settings', () => import('../routes/admin/lists.tsx'), 'SettingsPage'),
  page('/admin/backups', () => import('../routes/admin/lists.tsx'), 'BackupsPage'),
  page('/admin/programs', () => import('../routes/admin/programs.tsx'), 'ProgramsPage'),
  page('/admin/site', () => import('../routes/site/texts.tsx'), 'SitePage'),
  page('/admin/community', () => import('../routes/site/moderation.tsx'), 'CommunityPage'),
  page('/admin/contact', () => import('../routes/site/moderation.tsx'), 'ContactPage'),
  page('/admin/sponsors', () => import('../routes/site/sponsors.tsx'), 'SponsorsPage'),
  page('/admin/marketplace', () => import('../routes/site/moderation.tsx'), 'MarketplacePage'),
  page('/admin/tracker', () => import('../routes/site/sponsors.tsx'), 'TrackerPage'),
  page('/community/new', () => import('../routes/site/community.tsx'), 'NewPostPage'),
  page('/community/$id/edit', () => import('../routes/site/community.tsx'), 'EditPostPage'),
] as const
