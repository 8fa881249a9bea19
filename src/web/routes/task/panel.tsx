/** A task beside its list, with an address of its own (`?open=KEY`). */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Link as LinkIcon, Maximize2, X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useAfterRemoval } from '../../lib/after-removal.ts'
import { copyText } from '../../lib/clipboard.ts'
import { TaskBody } from './body.tsx'
import { taskQuery } from './queries.ts'
import { useShownTasks } from './shown-tasks.ts'
import { TaskSteps } from './steps.tsx'
import { words } from './words.ts'

interface Props {
  taskKey: string
  /** Opens another task of the list, if there is one. */
  onOpen?(key: string): void
  onClose(): void
}

export function TaskPanel({ taskKey, onOpen, onClose }: Props) {
  const keys = useShownTasks().map(({ key }) => key)
  const { data: task, error } = useQuery(taskQuery(taskKey))
  const panel = useRef<HTMLElement>(null)
  const before = useRef<Element>(null)
  useEffect(() => {
    before.current = document.activeElement
    panel.current?.focus()
  }, [])
  useAfterRemoval(() => {
    // Not if the reader has gone on to another card meanwhile.
    if (before.current instanceof HTMLElement && document.activeElement === document.body) before.current.focus()
  })
  const copy = async () => {
    await copyText(new URL(`/tasks/${taskKey}`, location.href).href)
    toast({ title: words.copied })
  }
  return (
    <section className="panel" aria-label={taskKey} ref={panel} tabIndex={-1}>
      <header>
        <span className="soft">{taskKey}</span>
        <button type="button" className="ib s24" aria-label={words.copyLink} onClick={() => void copy()}>
          <LinkIcon className="i s14" aria-hidden />
        </button>
        <span className="grow" />
        {onOpen && <TaskSteps keys={keys} current={taskKey} onOpen={onOpen} />}
        <Link
          className="ib"
          to="/tasks/$key"
          params={{ key: taskKey }}
          state={{ taskKeys: keys }}
          aria-label={words.whole}
        >
          <Maximize2 className="i s14" aria-hidden />
        </Link>
        <button type="button" className="ib" aria-label={words.close} onClick={onClose}>
          <X className="i" aria-hidden />
        </button>
      </header>
      {error && !task ? <ProblemBox error={error} /> : null}
      {task ? <TaskBody task={task} level={2} onGone={onClose} /> : <Waiting />}
    </section>
  )
}
