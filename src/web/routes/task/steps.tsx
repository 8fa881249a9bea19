/** Steps through the list that a task was opened from: `j`, `k`, or two buttons. */
import { ChevronDown, ChevronUp } from 'lucide-react'
import { useCommands } from '../../shortcuts.ts'
import { words } from './words.ts'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The keys of the tasks of the list that a task was opened from. */
    taskKeys?: readonly string[]
  }
}

interface Props {
  keys: readonly string[]
  current: string
  onOpen(key: string): void
}

export function TaskSteps({ keys, current, onOpen }: Props) {
  const place = keys.indexOf(current)
  const [previous, next] = place < 0 ? [] : [keys[place - 1], keys[place + 1]]
  const step = { keysOnly: true } as const
  useCommands(
    place < 0
      ? []
      : [
          { ...step, keys: 'j', label: words.next, run: () => next && onOpen(next) },
          { ...step, keys: 'k', label: words.previous, run: () => previous && onOpen(previous) },
        ],
  )
  if (place < 0) return null
  return (
    <span className="row tight soft">
      {words.of(place + 1, keys.length)}
      <StepButton label={words.previous} to={previous} onOpen={onOpen} Icon={ChevronUp} />
      <StepButton label={words.next} to={next} onOpen={onOpen} Icon={ChevronDown} />
    </span>
  )
}

interface StepProps extends Pick<Props, 'onOpen'> {
  label: string
  to: string | undefined
  Icon: typeof ChevronUp
}

const StepButton = ({ label, to, onOpen, Icon }: StepProps) => (
  <button type="button" className="ib s24" aria-label={label} disabled={!to} onClick={() => to && onOpen(to)}>
    <Icon className="i s14" aria-hidden />
  </button>
)
