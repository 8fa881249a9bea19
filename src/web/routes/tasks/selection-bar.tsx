/** What can be done with the selected tasks: a floating bar, and keys that also work on the task with the focus. */
import { useQueryClient } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { Calendar, Circle, Ellipsis, SignalHigh, Tag, UserPlus, X } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { TaskDetail, TaskItem } from '../../../features/tasks/schema.ts'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { Kbd, KeyHint, useStatusBarLeft } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { copyText } from '../../lib/clipboard.ts'
import { useCommands } from '../../shortcuts.ts'
import { statusNames } from '../../words.ts'
import { useChangeTasks } from './pickers/change-tasks.ts'
import { useCompleteListed } from './pickers/complete-key.tsx'
import { COMPLETE_KEY, type PickerField, pickerFields, pickerKeys } from './pickers/field.ts'
import { LazyFieldPicker, loadPickerAhead } from './pickers/lazy-picker.tsx'
import { pressComplete, pressField } from './pickers/press-field.ts'
import { words as pickerWords } from './pickers/words.ts'
import { focusTask, type TaskSelection } from './selection.ts'
import { words } from './words.ts'

const buttons = [
  { field: 'status', Icon: Circle },
  { field: 'priority', Icon: SignalHigh },
  { field: 'assignee', Icon: UserPlus },
  { field: 'label', Icon: Tag },
  { field: 'due', Icon: Calendar },
] as const satisfies readonly { field: PickerField; Icon: unknown }[]

interface Props {
  projectId: string
  selection: TaskSelection
  /** The key of the task that is open beside the list. */
  open?: string | undefined
  /** Tasks that a button of theirs asks to change. */
  asked?: { field: PickerField; item: TaskItem } | undefined
  onAnswered(): void
}

interface OpenPicker {
  field: PickerField
  items: readonly TaskItem[]
  anchor: Element
}

/** The place of a picker for some tasks: at the one with the focus, else at the first on the page, else at the bar. */
function anchorOf(items: readonly TaskItem[]): Element {
  const rows = items.map(({ id }) => document.querySelector(`[data-task="${id}"]`)).filter((row) => row !== null)
  const row = rows.find((one) => one === document.activeElement) ?? rows[0]
  return row?.closest('li') ?? document.querySelector('.actbar') ?? document.body
}

export function SelectionBar({ projectId, selection, open, asked, onAnswered }: Props) {
  const { me } = useRouteContext({ from: '/inside' })
  const cache = useQueryClient()
  const changeTasks = useChangeTasks(projectId)
  const [picking, setPicking] = useState<OpenPicker>()
  useEffect(loadPickerAhead, [])
  usePeopleAhead()
  const begin = (field: PickerField, anchor?: Element) => {
    const items = selection.targets()
    if (items.length > 0) setPicking({ field, items, anchor: anchor ?? anchorOf(items) })
    else pressField(field)
  }
  const takeOver = () => {
    const opened = open === undefined ? undefined : cache.getQueryData<TaskDetail>(['task', open])
    const items = selection.targets()
    const tasks = items.length > 0 || !opened ? items : [opened]
    changeTasks(tasks, { assignee: me.id }, pickerWords.said.assignee(me.name), selection.all)
  }
  const listed = useCompleteListed()
  const complete = () => {
    const items = selection.targets()
    const [first] = items
    if (!first) pressComplete()
    else if (items.length === 1 && !selection.all) listed.complete(first.key, anchorOf(items))
    else changeTasks(items, { status: 'done' }, pickerWords.said.status(statusNames.done), selection.all)
  }
  const n = selection.all?.count ?? selection.ids.size
  useCommands(
    [
      ...pickerFields.map((field) => ({
        keys: pickerKeys[field],
        label: pickerWords.fields[field],
        run: () => begin(field),
      })),
      { keys: 'i', label: pickerWords.assignMe, run: takeOver },
      { keys: COMPLETE_KEY, label: pickerWords.complete, run: complete },
    ].map((command) => ({
      ...command,
      applies: () => selection.targets().length > 0,
      ...(n > 0 ? { scope: 'selection' as const, on: words.n(n) } : { scope: 'list' as const }),
    })),
  )
  const shown = asked ? { field: asked.field, items: [asked.item], anchor: anchorOf([asked.item]) } : picking
  return (
    <>
      {n > 0 && <Bar selection={selection} onPick={begin} onMine={takeOver} />}
      {listed.popover}
      {shown && (
        <LazyFieldPicker
          key={`${shown.field} ${shown.items.map(({ id }) => id).join()}`}
          {...shown}
          items={shown.items.map(selection.latest)}
          onChange={(change, said) => changeTasks(shown.items, change, said, asked ? undefined : selection.all)}
          onClose={() => {
            setPicking(undefined)
            onAnswered()
          }}
          onFocusLost={() => shown.items[0] && focusTask(shown.items[0].id)}
        />
      )}
    </>
  )
}

/** Loads the people and agents of the team once a task has the focus, so that the picker knows them. */
function usePeopleAhead(): void {
  const { team } = useRouteContext({ from: '/inside' })
  const cache = useQueryClient()
  useEffect(() => {
    const load = ({ target }: FocusEvent) => {
      if (!(target instanceof Element && target.closest('[data-task]'))) return
      stop()
      void cache.prefetchQuery(membersQuery(team.id))
      void cache.prefetchQuery(agentsQuery(team.id))
    }
    const stop = () => document.removeEventListener('focusin', load)
    document.addEventListener('focusin', load)
    return stop
  }, [cache, team.id])
}

interface BarProps {
  selection: TaskSelection
  onPick(field: PickerField, anchor: Element): void
  onMine(): void
}

function Bar({ selection, onPick, onMine }: BarProps) {
  const n = selection.all?.count ?? selection.ids.size
  const all = selection.selectAll?.count ?? selection.loaded()
  const bar = useRef<HTMLDivElement>(null)
  const foot = useMemo(() => <SelectionKeys n={n} all={all} />, [n, all])
  useStatusBarLeft(foot)
  return (
    <div className="actbar" role="toolbar" aria-label={words.selected(n)} ref={bar}>
      <span className="cnt">
        {words.selected(n)}
        {n < all && (
          <button type="button" className="link" onClick={selection.selectAll?.run ?? selection.selectLoaded}>
            {words.selectAll(all)}
          </button>
        )}
      </span>
      {buttons.map(({ field, Icon }) => (
        <button
          key={field}
          type="button"
          className="btn"
          aria-label={`${pickerWords.fields[field]} ${pickerKeys[field]}`}
          aria-haspopup="dialog"
          aria-keyshortcuts={pickerKeys[field]}
          onClick={({ currentTarget }) => onPick(field, currentTarget)}
        >
          <Icon className="i s14" aria-hidden />
          <span className="hp">{pickerWords.fields[field]}</span> <Kbd>{pickerKeys[field]}</Kbd>
        </button>
      ))}
      <MoreMenu
        onChoose={(entry) => {
          if (entry === 'mine') return onMine()
          if (entry === 'copy') return void copyKeys(selection.targets())
          // The menu gives the focus back first.
          setTimeout(() => bar.current && onPick(entry, bar.current.querySelector('.more') ?? bar.current), 50)
        }}
      />
      <button type="button" className="ib" aria-label={words.clearSelection} onClick={selection.clear}>
        <X className="i" aria-hidden />
      </button>
    </div>
  )
}

type MoreEntry = 'blockedBy' | 'estimate' | 'mine' | 'copy'

const MoreMenu = ({ onChoose }: { onChoose(entry: MoreEntry): void }) => (
  <LazyMenu
    trigger={
      <button type="button" className="ib more" aria-label={words.moreActions}>
        <Ellipsis className="i" aria-hidden />
      </button>
    }
    entries={[
      { value: 'blockedBy', label: pickerWords.fields.blockedBy },
      { value: 'estimate', label: pickerWords.fields.estimate },
      { value: 'mine', label: pickerWords.assignMe },
      { value: 'copy', label: words.copyKeys },
    ]}
    onChoose={(entry) => onChoose(entry as MoreEntry)}
  />
)

async function copyKeys(items: readonly TaskItem[]): Promise<void> {
  await copyText(items.map(({ key }) => key).join(', '))
  toast({ title: words.copied })
}

/** The keys of a selection, for the status bar. */
const SelectionKeys = ({ n, all }: { n: number; all: number }) => (
  <>
    <b className="b5 ink">{words.selected(n)}</b>
    {(['status', 'priority', 'assignee', 'label'] as const).map((field) => (
      <KeyHint key={field} keys={pickerKeys[field]} text={pickerWords.fields[field].toLowerCase()} />
    ))}
    <KeyHint keys="$mod+k" text={words.keys.foot.actions} />
    {n < all && <KeyHint keys="$mod+a" text={words.keys.foot.all(all)} />}
    <KeyHint keys="Escape" text={words.keys.foot.clear} />
  </>
)
