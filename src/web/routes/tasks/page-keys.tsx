import { getRouteApi } from '@tanstack/react-router'
import { toast } from '../../components/toasts.tsx'
import { copyText } from '../../lib/clipboard.ts'
import { useCommands } from '../../shortcuts.ts'
import { shownTaskKeys } from '../task/shown-tasks.ts'
import { type TaskSearch, taskViews } from './search.ts'
import type { TaskSelection } from './selection.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/projects/$slug/tasks')

interface KeysProps {
  may: boolean
  search: TaskSearch
  narrow(change: Partial<TaskSearch>): void
  onAdd(): void
  onFilter(): void
}

export function useTaskPageKeys({ may, search, narrow, onAdd, onFilter }: KeysProps): void {
  const navigate = route.useNavigate()
  const copy = async (text: string) => {
    await copyText(text)
    toast({ title: words.copied })
  }
  const focusedKey = () => document.activeElement?.closest('li')?.querySelector('.key')?.textContent ?? undefined
  /** The key of the open task, else of the one with the focus. */
  const key = () => search.open ?? focusedKey()
  /** Opens the task with the focus; it is a link, which Space does not follow by itself. */
  const peek = () => narrow({ open: focusedKey() ?? search.open })
  useCommands([
    ...(may ? [{ keys: 'c', label: words.newTask, run: onAdd }] : []),
    { keys: 'f', label: words.keys.filter, run: onFilter },
    ...taskViews.map((view, place) => ({
      keys: String(place + 1),
      label: words.views[view],
      run: () => narrow({ view: view === 'board' ? undefined : view }),
    })),
    { keys: 'Space', label: words.keys.peek, scope: 'list', keysOnly: true, run: peek },
    { keys: '$mod+.', label: words.keys.copyKey, run: () => void copy(key() ?? location.href) },
    {
      keys: '$mod+Shift+,',
      label: words.keys.copyLink,
      run: () => void copy(key() ? new URL(`/tasks/${key()}`, location.href).href : location.href),
    },
    ...(search.open
      ? [
          {
            keys: 'Enter',
            label: words.keys.page,
            run: () =>
              void navigate({
                to: '/tasks/$key',
                params: { key: search.open ?? '' },
                state: { taskKeys: shownTaskKeys() },
              }),
          },
        ]
      : []),
  ])
}

/** Escape clears the selection first, then closes what is open. */
export function EscapeKey({
  search,
  selection,
  narrow,
}: {
  search: TaskSearch
  selection: TaskSelection
  narrow(change: Partial<TaskSearch>): void
}) {
  useCommands([
    {
      keys: 'Escape',
      run: () => {
        if (selection.ids.size > 0) selection.clear()
        else if (search.open) narrow({ open: undefined })
      },
    },
  ])
  return null
}
