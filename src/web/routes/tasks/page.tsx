/** One query over the tasks of a project, shown as a board, a list, a timeline or a graph; a task opens beside it. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Suspense, useCallback, useState } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { EmptyState } from '../../components/states.tsx'
import { lazy } from '../../lib/lazy.ts'
import { projectQuery } from '../project/queries.ts'
import { BoardView } from './board-view.tsx'
import { CreateTaskDialog } from './create.tsx'
import type { GroupAdd } from './list/group-head.tsx'
import type { PickerField } from './pickers/field.ts'
import { type TaskSearch, taskGroupings, taskViews } from './search.ts'
import { TaskViews } from './task-views.tsx'
import { words } from './words.ts'

const GraphView = lazy(() => import('./graph.tsx'))
const CardMenu = lazy(() => import('./card-menu.tsx'))

const route = getRouteApi('/inside/projects/$slug/tasks')

const groupings = taskGroupings.filter((name) => name !== 'project')

export function TasksPage() {
  const { slug } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const project = useSuspenseQuery(projectQuery(slug)).data
  const may = project.can?.write === true
  const [adding, setAdding] = useState<GroupAdd['values']>()
  const [asked, setAsked] = useState<{ field: PickerField; item: TaskItem }>()
  const narrow = useCallback(
    (change: Partial<TaskSearch>) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
  const [menu, setMenu] = useState<{ task: TaskItem; anchor: Element }>()
  const openMenu = useCallback((task: TaskItem, anchor: Element) => setMenu({ task, anchor }), [])
  const add = useCallback((status: 'backlog' | 'todo' = 'todo') => setAdding({ status }), [])
  return (
    <>
      <TaskViews
        scope={project.id}
        title={words.title(project.name)}
        search={search}
        narrow={narrow}
        may={may}
        views={taskViews}
        view={search.view ?? 'board'}
        groupings={groupings}
        allTasks={project.stats.tasks}
        asked={asked}
        onAnswered={() => setAsked(undefined)}
        onAdd={may ? add : undefined}
        onAddTo={({ values }) => setAdding(values)}
        nothing={<Nothing project={project} onAdd={may ? add : undefined} />}
        board={(shared) => <BoardView {...shared} project={project} onAdd={add} onMenu={openMenu} />}
        graph={(shared) => <GraphView {...shared} project={project} />}
      />
      {menu && (
        <Suspense>
          <CardMenu
            {...menu}
            onClose={() => setMenu(undefined)}
            onField={(field) => setAsked({ field, item: menu.task })}
            onOpen={() => narrow({ open: menu.task.key })}
          />
        </Suspense>
      )}
      {adding && <CreateTaskDialog project={project} values={adding} onClose={() => setAdding(undefined)} />}
    </>
  )
}

const Nothing = ({ project, onAdd }: { project: { key: string }; onAdd: (() => void) | undefined }) => (
  <div className="scroll">
    <EmptyState title={words.emptyTitle}>
      <p className="soft">{words.emptyText}</p>
      {onAdd && (
        <p className="voidact">
          <button type="button" className="btn main" onClick={() => onAdd()}>
            {words.newTask}
          </button>
        </p>
      )}
      <code className="code">{words.emptyCommand(project.key)}</code>
    </EmptyState>
  </div>
)
