/** What concerns the reader or the whole team: what needs them, who is at work, what happened, what can be found. */
import { lazyPage } from '../lazy.ts'
import { activitySearch } from '../routes/activity/search.ts'
import { assistantSearch } from '../routes/assistant/search.ts'
import { inboxSearch } from '../routes/inbox/search.ts'
import { issueSearch } from '../routes/issues/search.ts'
import { nowSearch } from '../routes/now/search.ts'
import { findSearch } from '../routes/search/search.ts'
import { trashSearch } from '../routes/trash/search.ts'
import { welcomeSearch } from '../routes/welcome/search.ts'
import { page, pageWith } from './inside.ts'

const AssistantPage = lazyPage(() => import('../routes/assistant/page.tsx'), 'AssistantPage')

export const overview = [
  page(
    '/',
    lazyPage(() => import('../routes/home/page.tsx'), 'HomePage'),
  ),
  pageWith(
    '/search',
    findSearch,
    lazyPage(() => import('../routes/search/page.tsx'), 'SearchPage'),
  ),
  pageWith('/assistant', assistantSearch, AssistantPage),
  page('/assistant/$id', AssistantPage),
  pageWith(
    '/inbox',
    inboxSearch,
    lazyPage(() => import('../routes/inbox/page.tsx'), 'InboxPage'),
  ),
  pageWith(
    '/now',
    nowSearch,
    lazyPage(() => import('../routes/now/page.tsx'), 'NowPage'),
  ),
  pageWith(
    '/activity',
    activitySearch,
    lazyPage(() => import('../routes/activity/page.tsx'), 'ActivityPage'),
  ),
  pageWith(
    '/issues',
    issueSearch,
    lazyPage(() => import('../routes/issues/page.tsx'), 'IssuesPage'),
  ),
  pageWith(
    '/trash',
    trashSearch,
    lazyPage(() => import('../routes/trash/page.tsx'), 'TrashPage'),
  ),
  page(
    '/sync/conflicts',
    lazyPage(() => import('../routes/conflicts/page.tsx'), 'ConflictsPage'),
  ),
  pageWith(
    '/welcome',
    welcomeSearch,
    lazyPage(() => import('../routes/welcome/page.tsx'), 'WelcomePage'),
  ),
] as const
