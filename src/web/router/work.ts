/** Pages of projects, plans, tasks and features. */
import { createRoute } from '@tanstack/react-router'
import { featureSearch } from '../routes/features/search.ts'
import { projectSearch } from '../routes/projects/search.ts'
import { taskSearch } from '../routes/tasks/search.ts'
import { page, pageWith, signedInRoute } from './inside.ts'
import { lazyPage } from './page-gate.tsx'

/** The key of the task that is open beside the plan. */
const planSearch = ({ open }: Record<string, unknown>): { open?: string } => (typeof open === 'string' ? { open } : {})
/** The plan, an epic and a story share the component, so that the tree stays as it is. */
const plan = {
  getParentRoute: () => signedInRoute,
  ...lazyPage(() => import('../routes/plan/page.tsx'), 'PlanPage'),
  validateSearch: planSearch,
  remountDeps: () => 'plan',
}

export const projectPages = [
  pageWith('/projects', projectSearch, () => import('../routes/projects/page.tsx'), 'ProjectsPage'),
  page('/projects/$slug', () => import('../routes/project/page.tsx'), 'ProjectPage'),
  createRoute({ ...plan, path: '/projects/$slug/plan' }),
  createRoute({ ...plan, path: '/projects/$slug/epics/$epicId' }),
  createRoute({ ...plan, path: '/projects/$slug/epics/$epicId/stories/$storyId' }),
  pageWith('/projects/$slug/tasks', taskSearch, () => import('../routes/tasks/page.tsx'), 'TasksPage'),
  pageWith('/tasks', taskSearch, () => import('../routes/tasks/team-page.tsx'), 'TeamTasksPage'),
  page('/tasks/$key', () => import('../routes/task/page.tsx'), 'TaskPage'),
  pageWith('/projects/$slug/features', featureSearch, () => import('../routes/features/page.tsx'), 'FeaturesPage'),
  // Notifications name a feature together with its project.
  page('/projects/$slug/features/$id', () => import('../routes/feature/page.tsx'), 'FeaturePage'),
  page('/features/$id', () => import('../routes/feature/page.tsx'), 'FeaturePage'),
] as const
