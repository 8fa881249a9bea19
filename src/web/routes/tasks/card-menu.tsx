/** The menu of a card, where there is no keyboard: what is refused now is listed with its reason. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import type { TaskDetail, TaskItem } from '../../../features/tasks/schema.ts'
import { isClosed } from '../../../records/task-states.ts'
import { ok, tasks, writeOptions } from '../../api.ts'
import { isLocked } from '../../components/locked-button.tsx'
import { Menu, type MenuEntry } from '../../components/menu.tsx'
import { toast } from '../../components/toasts.tsx'
import { useIsAway } from '../../live/state.ts'
import { words as common } from '../../words.ts'
import { isFinished } from '../task/complete/open-items.ts'
import { completeTask, taskQuery } from '../task/queries.ts'
import { words as taskWords } from '../task/words.ts'
import type { PickerField } from './pickers/field.ts'
import { words as pickerWords } from './pickers/words.ts'
import { words } from './words.ts'

const fields = ['status', 'priority', 'assignee', 'label', 'due'] as const satisfies readonly PickerField[]
type Act = 'claim' | 'complete'

interface Props {
  task: TaskItem
  /** The button that opened it. */
  anchor: Element
  onClose(): void
  onField(field: PickerField): void
  /** Opens the task beside the board. */
  onOpen(): void
}

export default function CardMenu({ task, anchor, onClose, onField, onOpen }: Props) {
  const detail = useQuery(taskQuery(task.key)).data
  const isAway = useIsAway()
  const { me } = useRouteContext({ from: '/inside' })
  const { mutate } = useAct(task)
  const choose = (value: string) => {
    if (value === 'open' || (value === 'complete' && detail && !isFinished(detail, me.id))) return onOpen()
    if (detail && (value === 'claim' || value === 'complete')) return mutate({ act: value, detail })
    // The menu gives the focus back first.
    setTimeout(() => onField(value as PickerField), 50)
  }
  return (
    <Menu
      anchor={anchor}
      onClose={onClose}
      onChoose={choose}
      entries={[
        { value: 'open', label: words.openCard },
        ...fields.map((field) => ({ value: field, label: pickerWords.fields[field] })),
        ...(detail ? actEntries(detail, isAway) : []),
      ]}
    />
  )
}

/** Claim and Complete as the page of the task has them: forbidden ones are absent, refused ones are locked. */
function actEntries({ status, lease, can }: TaskDetail, isAway: boolean): MenuEntry[] {
  if (isClosed(status)) return []
  const acts: Act[] = lease ? ['complete'] : ['claim', 'complete']
  return acts
    .filter((act) => can[act] === true || isLocked(can[act]))
    .map((act, place) => {
      const refusal = can[act]
      const locked = isAway ? common.needsConnection : refusal === true ? undefined : refusal.detail
      return { value: act, label: taskWords[act], apart: place === 0, ...(locked && { locked }) }
    })
}

function useAct({ id, key, projectId }: TaskItem) {
  const cache = useQueryClient()
  const one = tasks.tasks({ id })
  return useMutation({
    mutationFn: async ({ act, detail }: { act: Act; detail: TaskDetail }) => {
      if (act === 'claim') await ok(one.claim.post({}, writeOptions()))
      else await completeTask(cache, detail, {})
    },
    onError: (error) => toast({ title: words.nothingChanged, text: error.message, bad: true }),
    onSettled: () =>
      Promise.all(
        [['task', key], ['tasks', projectId], ['at work'], ['now']].map((queryKey) =>
          cache.invalidateQueries({ queryKey }),
        ),
      ),
  })
}
