import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, useLocation, useRouter } from '@tanstack/react-router'
import { toast } from '../../components/toasts.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { copyText } from '../../lib/clipboard.ts'
import { useCommands } from '../../shortcuts.ts'
import { words as common } from '../../words.ts'
import { TaskBody } from './body.tsx'
import { taskQuery } from './queries.ts'
import { TaskSteps } from './steps.tsx'
import { words } from './words.ts'

const route = getRouteApi('/inside/tasks/$key')

export function TaskPage() {
  const { key } = route.useParams()
  const { data: task } = useSuspenseQuery(taskQuery(key))
  const navigate = route.useNavigate()
  const { slug, name } = task.project
  useCrumbs(
    { label: name, to: `/projects/${slug}` },
    { label: words.tasks, to: `/projects/${slug}/tasks` },
    { label: task.key, record: task.id },
  )
  const copy = async (text: string) => {
    await copyText(text)
    toast({ title: common.copied })
  }
  useCommands([
    { keys: '$mod+.', label: words.copyKey, run: () => void copy(task.key) },
    { keys: '$mod+Shift+,', label: words.copyLink, run: () => void copy(location.href) },
  ])
  const keys = useLocation({ select: ({ state }) => state.taskKeys })
  const router = useRouter()
  useCommands(keys ? [{ keys: 'Escape', label: words.backToList, run: () => router.history.back() }] : [])
  return (
    <section className="panel whole" aria-label={task.key}>
      {keys && (
        <header>
          <span className="soft">{task.key}</span>
          <span className="grow" />
          <TaskSteps
            keys={keys}
            current={task.key}
            onOpen={(next) =>
              void navigate({ to: '/tasks/$key', params: { key: next }, state: { taskKeys: keys }, replace: true })
            }
          />
        </header>
      )}
      <TaskBody task={task} level={1} onGone={() => void navigate({ to: '/projects/$slug/tasks', params: { slug } })} />
    </section>
  )
}
