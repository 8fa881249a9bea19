/**
 * The addresses of the dashboard, as the server's router writes them. The server serves its page on these and on no
 * others, so that all else is a true 404; a test compares them with the routes of the dashboard.
 */
export const paths = [
  '/',
  '/inbox',
  '/now',
  '/activity',
  '/issues',
  '/projects',
  '/projects/:slug',
  '/projects/:slug/epics/:epicId',
  '/projects/:slug/epics/:epicId/stories/:storyId',
  '/projects/:slug/plan',
  '/projects/:slug/tasks',
  '/tasks/:key',
  '/tokens',
  '/agents',
  '/agents/:id',
  '/welcome',
  '/projects/:slug/features',
  '/projects/:slug/features/:id',
  '/features/:id',
  '/decisions',
  '/decisions/:id',
  '/specs',
  '/specs/:id',
  '/skills',
  '/skills/:id',
  '/sessions',
  '/sessions/:id',
] as const
