import { Calendar } from 'lucide-react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { useTaskLease } from '../../claimed-tasks.ts'
import { Avatar, LeaseRing, TimeMark } from '../../components/avatar.tsx'
import { PriorityGlyph } from '../../components/glyphs.tsx'
import { ago, dueLabel, lastCallLabel, minutesUntil, shareLeft } from '../../lib/times.ts'
import { NotSent } from '../../waiting/waiting-edits.tsx'
import { words as common, priorityNames } from '../../words.ts'
import { TaskFlags, TaskFrees, TaskParts, TaskWaits } from './flags.tsx'
import { words } from './words.ts'

/** The colour of a label: always the same one, chosen by its letters. */
const labelTone = (label: string): number => [...label].reduce((n, c) => (n * 31 + c.charCodeAt(0)) % 6, 3) + 1

/** A label with its colour; `bare`: only the colour. */
export const LabelTag = ({ name, bare }: { name: string; bare?: boolean }) => (
  <span className={`tag l${labelTone(name)}`}>{!bare && name}</span>
)

/** The colour of a label, where its name follows. */
export const LabelDot = ({ name }: { name: string }) => <span className={`tag l${labelTone(name)}`} aria-hidden />

export function DueDate({ at }: { at: string }) {
  const { text, urgency } = dueLabel(at)
  return (
    <span className={`due ${urgency || 'soft'}`}>
      <Calendar className="i s12" aria-hidden />
      {text}
    </span>
  )
}

/** What a card shows. Leaves out what is empty. */
export function CardBody({ task }: { task: TaskItem }) {
  return (
    <>
      <div className="row tight">
        <span className="key">{task.key}</span>
        <PriorityGlyph priority={task.priority} name={words.priorityOf(priorityNames[task.priority])} />
        <span className="end row tight">
          {task.dueAt && <DueDate at={task.dueAt} />}
          {task.assignee && <Avatar party={task.assignee} />}
        </span>
      </div>
      <h3 className="ttl">{task.title}</h3>
      {/* The style sheet hides it if it is empty. */}
      <div className="meta">
        {task.labels.map((label) => (
          <LabelTag key={label} name={label} />
        ))}
        <TaskParts task={task} />
        <TaskWaits task={task} />
        <TaskFrees task={task} />
        <TaskFlags task={task} />
      </div>
      <NotSent id={task.id} />
      {task.lease && <Holder id={task.id} lease={task.lease} />}
    </>
  )
}

/** Who works on it: how much of the lease is left, their last call, their last change. */
function Holder({ id, lease }: { id: string; lease: NonNullable<TaskItem['lease']> }) {
  const { stalled = false, lastChangeAt } = useTaskLease(id) ?? {}
  return (
    <div className={stalled ? 'held stalled' : 'held'}>
      <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} />
      <span className="grow">
        <span className="nm b5">{lease.holder.name}</span>
        <span className="row wide wrap">
          <TimeMark text={lastCallLabel(lease.lastSeenAt)} title={common.lastCall} />
          {lastChangeAt && <TimeMark text={ago(lastChangeAt)} title={common.lastChange} change late={stalled} />}
          <span className="soft end">{common.minutesLeft(minutesUntil(lease.expiresAt))}</span>
        </span>
      </span>
    </div>
  )
}
