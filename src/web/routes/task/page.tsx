import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, useLocation, useRouter } from '@tanstack/react-router'
import { Link as LinkIcon } from 'lucide-react'
import { useMemo } from 'react'
import { KeyHint, useStatusBarLeft } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { copyText } from '../../lib/clipboard.ts'
import { useCommands } from '../../shortcuts.ts'
import { words as common } from '../../words.ts'
import { pickerKeys } from '../tasks/pickers/field.ts'
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
  const hints = useMemo(
    () => <TaskKeys taskKey={task.key} may={task.can.update === true} inList={!!keys} />,
    [task.key, task.can.update, keys],
  )
  useStatusBarLeft(hints)
  const router = useRouter()
  useCommands(keys ? [{ keys: 'Escape', label: words.backToList, run: () => router.history.back() }] : [])
  return (
    <section className="panel whole" aria-label={task.key}>
      <header className={keys ? undefined : 'hp'}>
        <span className="soft">{task.key}</span>
        <button type="button" className="ib s24" aria-label={words.copyLink} onClick={() => void copy(location.href)}>
          <LinkIcon className="i s14" aria-hidden />
        </button>
        <span className="grow" />
        {keys && (
          <TaskSteps
            keys={keys}
            current={task.key}
            onOpen={(next) =>
              void navigate({ to: '/tasks/$key', params: { key: next }, state: { taskKeys: keys }, replace: true })
            }
          />
        )}
      </header>
      <TaskBody task={task} level={1} onGone={() => void navigate({ to: '/projects/$slug/tasks', params: { slug } })} />
    </section>
  )
}

/** The keys of the page, for the status bar. */
const TaskKeys = ({ taskKey, may, inList }: { taskKey: string; may: boolean; inList: boolean }) => (
  <>
    <b className="b5 ink">{taskKey}</b>
    {inList && <KeyHint keys="j k" text={words.keys.step} />}
    {may && <KeyHint keys="e" text={words.keys.edit} />}
    {may && <KeyHint keys={pickerKeys.status} text={words.keys.state} />}
    {may && <KeyHint keys={pickerKeys.assignee} text={words.keys.assign} />}
    <KeyHint keys="$mod+." text={words.keys.copyKey} />
    {inList && <KeyHint keys="Escape" text={words.keys.back} />}
  </>
)
