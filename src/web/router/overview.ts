/** Pages of the reader and the whole team: home, inbox, Now, activity, search and others. */
import { createRoute } from '@tanstack/react-router'
import { activitySearch } from '../routes/activity/search.ts'
import { assistantSearch } from '../routes/assistant/search.ts'
import { inboxSearch } from '../routes/inbox/search.ts'
import { issueSearch } from '../routes/issues/search.ts'
import { nowSearch } from '../routes/now/search.ts'
import { parseSearchPageQuery } from '../routes/search/search.ts'
import { trashSearch } from '../routes/trash/search.ts'
import { welcomeSearch } from '../routes/welcome/search.ts'
import { page, pageWith, signedInRoute } from './inside.ts'
import { lazyPage } from './page-gate.tsx'

/** Both addresses share the component, so that the list of chats stays as it is. */
const assistant = {
  getParentRoute: () => signedInRoute,
  ...lazyPage(() => import('../routes/assistant/page.tsx'), 'AssistantPage'),
  remountDeps: () => 'assistant',
}

export const overviewPages = [
  page('/', () => import('../routes/home/page.tsx'), 'HomePage'),
  pageWith('/search', parseSearchPageQuery, () => import('../routes/search/page.tsx'), 'SearchPage'),
  createRoute({ ...assistant, path: '/assistant', validateSearch: assistantSearch }),
  createRoute({ ...assistant, path: '/assistant/$id' }),
  pageWith('/inbox', inboxSearch, () => import('../routes/inbox/page.tsx'), 'InboxPage'),
  pageWith('/now', nowSearch, () => import('../routes/now/page.tsx'), 'NowPage'),
  pageWith('/activity', activitySearch, () => import('../routes/activity/page.tsx'), 'ActivityPage'),
  pageWith('/issues', issueSearch, () => import('../routes/issues/page.tsx'), 'IssuesPage'),
  pageWith('/trash', trashSearch, () => import('../routes/trash/page.tsx'), 'TrashPage'),
  page('/sync/conflicts', () => import('../routes/conflicts/page.tsx'), 'ConflictsPage'),
  pageWith('/welcome', welcomeSearch, () => import('../routes/welcome/page.tsx'), 'WelcomePage'),
] as const
