/** Projects, and what is done in them. */
import { lazyPage } from '../lazy.ts'
import { featureSearch } from '../routes/features/search.ts'
import { projectSearch } from '../routes/projects/search.ts'
import { taskSearch } from '../routes/tasks/search.ts'
import { page, pageWith } from './inside.ts'

const PlanPage = lazyPage(() => import('../routes/plan/page.tsx'), 'PlanPage')
/** The key of the task that is open beside the plan. */
const planSearch = ({ open }: Record<string, unknown>): { open?: string } => (typeof open === 'string' ? { open } : {})

export const work = [
  pageWith(
    '/projects',
    projectSearch,
    lazyPage(() => import('../routes/projects/page.tsx'), 'ProjectsPage'),
  ),
  page(
    '/projects/$slug',
    lazyPage(() => import('../routes/project/page.tsx'), 'ProjectPage'),
  ),
  pageWith('/projects/$slug/plan', planSearch, PlanPage),
  pageWith('/projects/$slug/epics/$epicId', planSearch, PlanPage),
  pageWith('/projects/$slug/epics/$epicId/stories/$storyId', planSearch, PlanPage),
  pageWith(
    '/projects/$slug/tasks',
    taskSearch,
    lazyPage(() => import('../routes/tasks/page.tsx'), 'TasksPage'),
  ),
  page(
    '/tasks/$key',
    lazyPage(() => import('../routes/task/page.tsx'), 'TaskPage'),
  ),
  pageWith(
    '/projects/$slug/features',
    featureSearch,
    lazyPage(() => import('../routes/features/page.tsx'), 'FeaturesPage'),
  ),
  // Notifications name a feature together with its project.
  page(
    '/projects/$slug/features/$id',
    lazyPage(() => import('../routes/feature/page.tsx'), 'FeaturePage'),
  ),
  page(
    '/features/$id',
    lazyPage(() => import('../routes/feature/page.tsx'), 'FeaturePage'),
  ),
] as const
