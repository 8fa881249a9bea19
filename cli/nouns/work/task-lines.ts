import { evidenceLine } from '../../../src/features/tasks/acceptance/evidence-line.ts'
import type { Task, TaskDetail } from '../../../src/features/tasks/schema.ts'
import { isClosed } from '../../../src/records/task-states.ts'
import { paragraphLines, recordLines, safeLine } from '../../terminal/output.ts'
import { formatDue, timeAgo, timeLeft } from '../../terminal/times.ts'
import { type CommandOutput, outputOf } from '../noun.ts'

export const taskNames = (tasks: readonly { key: string; title: string }[]): string =>
  tasks.map((t) => `${t.key} ${safeLine(t.title)}`).join(', ')

/** Shows a task; its detail also names its project, dependencies and comments. */
export function taskOutput(task: Task | TaskDetail): CommandOutput {
  const detail = 'waitsFor' in task ? task : undefined
  return outputOf(
    task,
    ...recordLines(
      {
        Task: `${task.key} ${task.title}`,
        Project: detail?.project.name,
        Status: task.status,
        Priority: task.priority,
        Assignee: task.assignee?.name,
        Labels: task.labels.join(', '),
        Due: task.dueAt && formatDue(task.dueAt),
        Estimate: task.estimate,
        'Blocked by': task.blockedBy.join(', '),
        Blocks: detail?.frees.map((t) => t.key).join(', '),
        Subtasks: detail?.subtasks.map((t) => `${t.key} ${t.status}`).join(', '),
        'Claimed by': task.lease && `${task.lease.holder.name}, ${timeLeft(task.lease.expiresAt)}`,
        Updated: timeAgo(task.updatedAt),
        Id: task.id,
      },
      task.description,
    ),
    ...(task.acceptance.length > 0
      ? ['', ...task.acceptance.map((a, i) => `${i + 1}. [${a.done ? 'x' : ' '}] ${safeLine(a.text)}`)]
      : []),
    ...(task.completionNotes ? ['', ...paragraphLines(`Done: ${task.completionNotes}`)] : []),
    // The completion notes have the evidence of a task that is done.
    ...(isClosed(task.status) ? [] : (detail?.evidence ?? [])).flatMap((one) => [
      '',
      ...paragraphLines(`Evidence: ${safeLine(evidenceLine(one))}`),
    ]),
    ...(detail?.comments ?? []).flatMap((c) => [
      '',
      ...paragraphLines(`${safeLine(c.author.name)}, ${timeAgo(c.createdAt)}${c.asks ? ', question' : ''}: ${c.body}`),
    ]),
  )
}

/** Distinguishes a key (TUT-42), an id or its beginning from the words of a reason. */
export const isTaskRef = (text: string): boolean => /^([a-z][a-z\d]*-\d+|[\da-f]{8}[\da-f-]*)$/i.test(text)
