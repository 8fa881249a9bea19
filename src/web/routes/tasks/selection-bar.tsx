/** What can be done with the selected tasks: a floating bar, and keys that also work on the one with the focus. */
import { useRouteContext } from '@tanstack/react-router'
import { Calendar, Circle, SignalHigh, Tag, UserPlus, X } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { Kbd, useSetStatusBar } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { lazy } from '../../lib/lazy.ts'
import { useCommands } from '../../shortcuts.ts'
import { type BatchChange, type BatchOutcome, useBatchChange } from './batch.ts'
import type { PickerField } from './field-picker.tsx'
import { loadMatching } from './queries.ts'
import type { TaskSelection } from './selection.ts'
import { words } from './words.ts'

const Picker = lazy(() => import('./field-picker.tsx'))

const fields = [
  { field: 'status', key: 's', Icon: Circle },
  { field: 'priority', key: 'p', Icon: SignalHigh },
  { field: 'assignee', key: 'a', Icon: UserPlus },
  { field: 'label', key: 'l', Icon: Tag },
  { field: 'due', key: 'd', Icon: Calendar },
] as const satisfies readonly { field: PickerField; key: string; Icon: unknown }[]

interface Props {
  projectId: string
  selection: TaskSelection
  /** Tasks that a button of theirs asks to change. */
  asked?: { field: PickerField; item: TaskItem } | undefined
  onAnswered(): void
}

/** Says how many tasks were not changed, and why. */
function reportUnchanged({ changed, refused, unknown, reasons }: BatchOutcome): void {
  if (refused + unknown === 0) return
  const counts = [
    changed.length > 0 && words.changed(changed.length),
    refused > 0 && words.notChanged(refused),
    unknown > 0 && words.maybeChanged(unknown),
  ].filter((text) => text !== false)
  toast({ title: counts.join(', '), text: [...new Set(reasons)].slice(0, 3).join(' '), bad: true })
}

export function SelectionBar({ projectId, selection, asked, onAnswered }: Props) {
  const { me } = useRouteContext({ from: '/inside' })
  const set = useSetStatusBar()
  const [open, setOpen] = useState<{ field: PickerField; items: TaskItem[] }>()
  const { mutate } = useBatchChange(projectId, (outcome) => {
    set({ right: words.changed(outcome.changed.length) })
    reportUnchanged(outcome)
  })
  const apply = (items: TaskItem[], change: BatchChange) => items.length > 0 && mutate({ items, change })
  const loadTargets = async (): Promise<TaskItem[]> =>
    selection.all ? loadMatching(selection.all.where) : selection.targets()
  const begin = async (field: PickerField) => {
    const items = await loadTargets()
    if (items.length > 0) setOpen({ field, items })
  }
  const n = selection.ids.size
  const place = n > 0 ? { scope: 'selection' as const, on: words.n(n) } : { scope: 'list' as const }
  useCommands([
    ...fields.map(({ field, key }) => ({
      keys: key,
      label: words.fields[field],
      ...place,
      run: () => void begin(field),
    })),
    { keys: 'i', label: words.mine, ...place, run: async () => apply(await loadTargets(), { assignee: me.id }) },
  ])
  const shown = asked ? { field: asked.field, items: [asked.item] } : open
  const count = selection.all?.count ?? selection.ids.size
  const close = () => {
    setOpen(undefined)
    onAnswered()
  }
  return (
    <>
      {selection.ids.size > 0 && (
        <div className="actbar" role="toolbar" aria-label={words.selected(count)}>
          <span className="cnt">
            {words.selected(count)}
            {selection.selectAll && selection.selectAll.count > count && (
              <button type="button" className="link" onClick={selection.selectAll.run}>
                {words.selectAll(selection.selectAll.count)}
              </button>
            )}
          </span>
          {fields.map(({ field, key, Icon }) => (
            <button
              key={field}
              type="button"
              className="btn"
              aria-label={`${words.fields[field]} ${key}`}
              onClick={() => void begin(field)}
            >
              <Icon className="i s14" aria-hidden />
              <span className="hp">{words.fields[field]}</span> <Kbd>{key}</Kbd>
            </button>
          ))}
          <button type="button" className="ib" aria-label={words.clearSelection} onClick={selection.clear}>
            <X className="i" aria-hidden />
          </button>
        </div>
      )}
      {shown && (
        <Suspense>
          <Picker
            field={shown.field}
            projectId={projectId}
            items={shown.items}
            onChange={(change) => apply(shown.items, change)}
            onClose={close}
          />
        </Suspense>
      )}
    </>
  )
}
