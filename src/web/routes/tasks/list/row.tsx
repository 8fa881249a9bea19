/** A task as a row of a list. */
import { Check } from 'lucide-react'
import { memo, type ReactNode } from 'react'
import type { TaskItem } from '../../../../features/tasks/schema.ts'
import { useTaskLease } from '../../../claimed-tasks.ts'
import { Avatar, LeaseRing } from '../../../components/avatar.tsx'
import { PriorityGlyph, StatusGlyph } from '../../../components/glyphs.tsx'
import { ago, minutesUntil, shareLeft } from '../../../lib/times.ts'
import { NotSent } from '../../../waiting/waiting-edits.tsx'
import { words as common, priorityNames, statusNames } from '../../../words.ts'
import { DueDate, LabelTag } from '../card.tsx'
import { TaskFlags, TaskFrees, TaskParts, TaskWaits } from '../flags.tsx'
import type { TaskColumn } from '../search.ts'
import type { TaskSelection } from '../selection.ts'
import { opensTab, taskHref } from '../task-link.ts'
import { words } from '../words.ts'

interface RowProps {
  task: TaskItem
  open: boolean
  chosen: boolean
  may: boolean
  selection: TaskSelection
  columns: ReadonlySet<TaskColumn>
  onOpen(key: string): void
  /** What is shown after the title (default: the columns). */
  children?: ReactNode
}

export const TaskRow = memo(function TaskRow({ task, open, chosen, may, selection, onOpen, ...props }: RowProps) {
  return (
    <div className={`li task${task.status === 'done' ? ' done' : ''}${chosen ? ' chosen' : ''}`}>
      {may && (
        <button
          type="button"
          role="checkbox"
          aria-checked={chosen}
          aria-label={words.selectOne(task.key)}
          className={chosen ? 'box on' : 'box'}
          onClick={(event) => selection.toggle(task.id, event.shiftKey)}
        >
          {chosen && <Check className="i s12" aria-hidden />}
        </button>
      )}
      <a
        href={taskHref(task.key)}
        className="rowlink"
        data-task={task.id}
        aria-current={open || undefined}
        onFocus={() => selection.point(task.id)}
        onClick={(event) => {
          if (opensTab(event)) return
          event.preventDefault()
          if (event.shiftKey) selection.toggle(task.id, true)
          else onOpen(task.key)
        }}
      >
        <PriorityGlyph priority={task.priority} name={words.priorityOf(priorityNames[task.priority])} />
        <span className="key">{task.key}</span>
        <StatusGlyph status={task.status} name={statusNames[task.status]} />
        <span className="row">
          <span className="ttl cut">
            {task.title} <NotSent id={task.id} />
          </span>
          <TaskParts task={task} />
          <TaskFlags task={task} />
        </span>
        {props.children ?? <Facts task={task} columns={props.columns} />}
      </a>
    </div>
  )
})

const Facts = ({ task, columns }: { task: TaskItem; columns: ReadonlySet<TaskColumn> }) => (
  <>
    {columns.has('labels') && (
      <span className="row tight hp cut">
        {task.labels.slice(0, 2).map((label) => (
          <LabelTag key={label} name={label} />
        ))}
      </span>
    )}
    {columns.has('dependencies') && (
      <span className="hp">{task.blockedBy.length > 0 ? <TaskWaits task={task} /> : <TaskFrees task={task} />}</span>
    )}
    {columns.has('holder') && <span className="hp">{task.lease && <Holder id={task.id} lease={task.lease} />}</span>}
    {columns.has('assignee') && <span>{task.assignee && <Avatar party={task.assignee} />}</span>}
    {columns.has('due') && <span className="hp">{task.dueAt && <DueDate at={task.dueAt} />}</span>}
    {columns.has('updated') && <span className="hp t12 soft num">{ago(task.updatedAt)}</span>}
  </>
)

/** Who works on it, how much of the lease is left, and when they last changed anything. */
function Holder({ id, lease }: { id: string; lease: NonNullable<TaskItem['lease']> }) {
  const { stalled, lastChangeAt } = useTaskLease(id) ?? {}
  const change = lastChangeAt && ago(lastChangeAt)
  return (
    <span className={stalled ? 'row tight stalled' : 'row tight'}>
      <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} />
      <span className={stalled ? 't12 warn b5 cut' : 't12 soft cut'} title={common.lastChange}>
        {stalled && change ? words.unchangedFor(change) : words.leaseLine(minutesUntil(lease.expiresAt), change)}
      </span>
    </span>
  )
}
