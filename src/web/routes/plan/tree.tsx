/** The rows of the plan. They are moved by pointer or by Alt and an arrow key, renamed and deleted in place. */
import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine'
import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { attachClosestEdge, extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge'
import { Link } from '@tanstack/react-router'
import { ChevronRight, Ellipsis, Plus } from 'lucide-react'
import { type KeyboardEvent, useCallback, useState } from 'react'
import type { Tree } from '../../../features/planning/schema.ts'
import { Avatar, LeaseRing } from '../../components/avatar.tsx'
import { ProgressMeter } from '../../components/chart/burn-up-chart.tsx'
import { InlineField } from '../../components/form/inline-edit.tsx'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { Cell, TreeGrid } from '../../components/list/tree-grid.tsx'
import { shareLeft } from '../../lib/times.ts'
import { statusNames } from '../../words.ts'
import type { EntryPlace } from './add-form.tsx'
import { dropMove, type PlanEntry, type PlanMove, stepMove } from './model.ts'
import { words } from './words.ts'

const ROW = 36

interface Props {
  slug: string
  name: string
  tree: Tree
  rows: readonly PlanEntry[]
  selected: string | undefined
  may: boolean
  onToggle(entry: PlanEntry, open: boolean): void
  onOpen(key: string): void
  onAdd(adding: EntryPlace): void
  onMove(move: PlanMove): void
  onRename(entry: PlanEntry, title: string): void
  onRemove(entry: PlanEntry): void
}

export function PlanTree(props: Props) {
  const { tree, may, onMove, onRemove, onOpen, onToggle } = props
  const [renaming, setRenaming] = useState<string>()
  const [over, setOver] = useState<{ id: string; how: 'dropin' | 'dropafter' }>()
  const attach = useCallback(
    (entry: PlanEntry, element: HTMLElement) =>
      may ? makeDraggable(entry, element, tree, onMove, setOver) : () => undefined,
    [may, tree, onMove],
  )
  const onKey = (entry: PlanEntry, { key, altKey }: KeyboardEvent): boolean => {
    if (key === 'Enter') {
      if (entry.key) onOpen(entry.key)
      else onToggle(entry, !entry.expanded)
      return true
    }
    if (!may) return false
    if (altKey && (key === 'ArrowUp' || key === 'ArrowDown')) {
      const move = stepMove(tree, entry, key === 'ArrowUp' ? -1 : 1)
      if (move) onMove(move)
      return true
    }
    if (key === 'F2') setRenaming(entry.id)
    else if (key === 'Delete') onRemove(entry)
    return key === 'F2' || key === 'Delete'
  }
  return (
    <TreeGrid
      name={props.name}
      rows={props.rows}
      selected={props.selected}
      size={ROW}
      className={({ id }) => (over?.id === id ? over.how : '')}
      attach={attach}
      onToggle={onToggle}
      onKey={onKey}
      cells={(entry) => <Cells {...props} entry={entry} isRenaming={renaming === entry.id} onRenaming={setRenaming} />}
    />
  )
}

/** Lets a row be dragged and dropped on. Returns what ends it. */
function makeDraggable(
  entry: PlanEntry,
  element: HTMLElement,
  tree: Tree,
  onMove: (move: PlanMove) => void,
  setOver: (over: { id: string; how: 'dropin' | 'dropafter' } | undefined) => void,
): () => void {
  const moveOf = (source: PlanEntry, data: Record<string | symbol, unknown>) =>
    dropMove(tree, source, entry, extractClosestEdge(data) as 'top' | 'bottom' | null)
  return combine(
    draggable({ element, getInitialData: () => ({ entry }) }),
    dropTargetForElements({
      element,
      canDrop: ({ source }) => dropMove(tree, source.data.entry as PlanEntry, entry, 'bottom') !== undefined,
      getData: ({ input, element: target }) =>
        attachClosestEdge({ entry }, { input, element: target, allowedEdges: ['top', 'bottom'] }),
      onDragEnter: ({ source }) => {
        const isSame = (source.data.entry as PlanEntry).kind === entry.kind
        setOver({ id: entry.id, how: isSame ? 'dropafter' : 'dropin' })
      },
      onDragLeave: () => setOver(undefined),
      onDrop: ({ source, self }) => {
        setOver(undefined)
        const move = moveOf(source.data.entry as PlanEntry, self.data)
        if (move) onMove(move)
      },
    }),
  )
}

interface CellProps extends Props {
  entry: PlanEntry
  isRenaming: boolean
  onRenaming(id: string | undefined): void
}

function Cells({ entry, isRenaming, onRenaming, ...props }: CellProps) {
  const { all, done, agents, estimate, lease, assignee, level } = entry
  return (
    <>
      <Cell className={`name lv${level}`}>
        <Twist entry={entry} onToggle={props.onToggle} />
        <StatusGlyph status={entry.status} name={statusNames[entry.status]} />
        {entry.key && <span className="soft t12 tkey">{entry.key}</span>}
        {isRenaming ? (
          <InlineField
            label={words.rename}
            value={entry.title}
            className="input grow"
            maxLength={200}
            onSave={(title) => props.onRename(entry, title)}
            onDone={(byKey) => {
              // The keys go on with the row.
              if (byKey) document.activeElement?.closest<HTMLElement>('[role=row]')?.focus()
              onRenaming(undefined)
            }}
          />
        ) : (
          <Title slug={props.slug} entry={entry} onOpen={props.onOpen} />
        )}
      </Cell>
      <Cell className="row tight hp">
        {entry.kind !== 'task' && all > 0 && (
          <>
            <ProgressMeter all={all} agents={agents} people={done - agents} />
            <span className="soft t12 num nowrap stat">{words.progress(done, all)}</span>
          </>
        )}
      </Cell>
      <Cell className="soft t12 num nowrap hp">{estimate ? words.points(estimate) : ''}</Cell>
      <Cell className="who">
        {lease ? (
          <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} />
        ) : (
          assignee && <Avatar party={assignee} />
        )}
      </Cell>
      <Cell>{props.may && <More {...props} entry={entry} onRenaming={onRenaming} />}</Cell>
    </>
  )
}

const Twist = ({ entry, onToggle }: { entry: PlanEntry; onToggle(entry: PlanEntry, open: boolean): void }) => (
  <button
    type="button"
    className="twist ib s24"
    tabIndex={-1}
    aria-hidden
    disabled={entry.expanded === undefined}
    onClick={() => onToggle(entry, !entry.expanded)}
  >
    {entry.expanded !== undefined && <ChevronRight className="i s14" aria-hidden />}
  </button>
)

function Title({ slug, entry, onOpen }: { slug: string; entry: PlanEntry; onOpen(key: string): void }) {
  const { kind, id, title, epicId, key } = entry
  if (kind === 'task')
    return (
      <button type="button" className="ttl cut plain" tabIndex={-1} onClick={() => key && onOpen(key)}>
        {title}
      </button>
    )
  return kind === 'epic' ? (
    <Link className="ttl cut" tabIndex={-1} to="/projects/$slug/epics/$epicId" params={{ slug, epicId: id }}>
      {title}
    </Link>
  ) : (
    <Link
      className="ttl cut"
      tabIndex={-1}
      to="/projects/$slug/epics/$epicId/stories/$storyId"
      params={{ slug, epicId: epicId ?? '', storyId: id }}
    >
      {title}
    </Link>
  )
}

type MoreProps = Pick<CellProps, 'entry' | 'onAdd' | 'onRemove' | 'onRenaming'>

function More({ entry, onAdd, onRemove, onRenaming }: MoreProps) {
  const { kind, id, title } = entry
  const button = (
    <button type="button" className="ib s24" tabIndex={-1} aria-label={words.more(title)}>
      <Ellipsis className="i s14" aria-hidden />
    </button>
  )
  const inner = kind === 'epic' ? 'story' : 'task'
  const entries = [
    ...(kind === 'task'
      ? []
      : [{ value: 'add', label: words.add(inner, title), glyph: <Plus className="i s14" aria-hidden /> }]),
    { value: 'rename', label: words.renameIt },
    { value: 'remove', label: words.removeIt, danger: true },
  ]
  const choose = (value: string) => {
    if (value === 'add') onAdd({ kind: inner, parent: id, epicId: kind === 'epic' ? id : null, to: title })
    else if (value === 'rename') onRenaming(id)
    else onRemove(entry)
  }
  return <LazyMenu trigger={button} entries={entries} onChoose={choose} />
}
