/** The tasks of all projects of the team. `/tasks?assignee=me` are the reader's own. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouteContext } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { projectsQuery, teamsQuery } from '../../account/session.ts'
import { EmptyState } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { CreateTaskDialog } from './create.tsx'
import type { GroupAdd } from './list/group-head.tsx'
import { ALL_PROJECTS } from './queries.ts'
import { type TaskSearch, taskGroupings } from './search.ts'
import { TaskViews } from './task-views.tsx'
import { words } from './words.ts'

const route = getRouteApi('/inside/tasks')

export function TeamTasksPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useQuery(projectsQuery(team.id)).data
  const may = useQuery(teamsQuery).data?.find(({ id }) => id === team.id)?.can?.write === true
  const [adding, setAdding] = useState<GroupAdd>()
  const narrow = useCallback(
    (change: Partial<TaskSearch>) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
  const title = search.assignee === 'me' ? words.myTasks : words.allTasks
  useCrumbs({ label: title })
  const project = projects?.find(({ id }) => id === adding?.projectId)
  return (
    <>
      <TaskViews
        scope={ALL_PROJECTS}
        title={title}
        search={search}
        narrow={narrow}
        may={may}
        views={['list', 'timeline']}
        view={search.view === 'timeline' ? 'timeline' : 'list'}
        groupings={taskGroupings}
        onAddTo={setAdding}
        nothing={<Nothing />}
      />
      {project && adding && (
        <CreateTaskDialog project={project} values={adding.values} onClose={() => setAdding(undefined)} />
      )}
    </>
  )
}

const Nothing = () => (
  <div className="scroll">
    <EmptyState title={words.emptyTitle}>
      <p className="soft">{words.emptyTeam}</p>
    </EmptyState>
  </div>
)
