/** What a task needs, as the server decided, and its counts: for cards and rows. */
import { CornerDownRight, Hourglass, ListChecks } from 'lucide-react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { words } from './words.ts'

/** Flags without an entry are grey. */
const tones: Readonly<Record<string, string>> = {
  asks_you: 'accent',
  waits_for_you: 'accent',
  changes_asked: 'warn',
  stalled: 'warn',
  needs_decision: 'info',
}

const flagNames: Readonly<Record<string, string>> = words.flags

/** At most two, the most urgent first: the server chooses them. */
export const TaskFlags = ({ task: { flags = [] } }: { task: TaskItem }) =>
  flags.map((flag) => (
    <span key={flag} className={`flag ${tones[flag] ?? ''}`}>
      {flagNames[flag] ?? flag.replaceAll('_', ' ')}
    </span>
  ))

/** How many subtasks are done. */
export const TaskParts = ({ task: { parts } }: { task: TaskItem }) =>
  parts ? (
    <span className="waits num" title={words.parts(parts.done, parts.total)}>
      <ListChecks className="i s12" aria-hidden />
      <span aria-hidden>
        {parts.done}/{parts.total}
      </span>
      <span className="hide">{words.parts(parts.done, parts.total)}</span>
    </span>
  ) : null

/** How many open tasks it waits for. */
export const TaskWaits = ({ task: { blockedBy } }: { task: TaskItem }) =>
  blockedBy.length > 0 ? (
    <span className="waits">
      <Hourglass className="i s12" aria-hidden />
      {words.waitsFor(blockedBy.length)}
    </span>
  ) : null

/** How many open tasks wait for it. */
export const TaskFrees = ({ task: { freesCount = 0 } }: { task: TaskItem }) =>
  freesCount > 0 ? (
    <span className="waits">
      <CornerDownRight className="i s12" aria-hidden />
      {words.frees(freesCount)}
    </span>
  ) : null
