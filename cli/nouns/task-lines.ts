import { evidenceLine } from '../../src/features/tasks/acceptance/evidence-line.ts'
import type { Task, TaskDetail } from '../../src/features/tasks/schema.ts'
import { isClosed } from '../../src/records/work.ts'
import { paragraphs, plain, record } from '../terminal/output.ts'
import { ago, dayOrHour, left } from '../terminal/times.ts'
import { type Shown, shown } from './noun.ts'

export const named = (tasks: readonly { key: string; title: string }[]): string =>
  tasks.map((t) => `${t.key} ${plain(t.title)}`).join(', ')

/** Shows a task; its detail also names its project, dependencies and comments. */
export function one(task: Task | TaskDetail): Shown {
  const detail = 'waitsFor' in task ? task : undefined
  return shown(
    task,
    ...record(
      {
        Task: `${task.key} ${task.title}`,
        Project: detail?.project.name,
        Status: task.status,
        Priority: task.priority,
        Assignee: task.assignee?.name,
        Labels: task.labels.join(', '),
        Due: task.dueAt && dayOrHour(task.dueAt),
        Estimate: task.estimate,
        'Blocked by': task.blockedBy.join(', '),
        Blocks: detail?.frees.map((t) => t.key).join(', '),
        Subtasks: detail?.subtasks.map((t) => `${t.key} ${t.status}`).join(', '),
        'Claimed by': task.lease && `${task.lease.holder.name}, ${left(task.lease.expiresAt)}`,
        Updated: ago(task.updatedAt),
        Id: task.id,
      },
      task.description,
    ),
    ...(task.acceptance.length > 0
      ? ['', ...task.acceptance.map((a, i) => `${i + 1}. [${a.done ? 'x' : ' '}] ${plain(a.text)}`)]
      : []),
    ...(task.completionNotes ? ['', ...paragraphs(`Done: ${task.completionNotes}`)] : []),
    // The completion notes have the evidence of a task that is done.
    ...(isClosed(task.status) ? [] : (detail?.evidence ?? [])).flatMap((one) => [
      '',
      ...paragraphs(`Evidence: ${plain(evidenceLine(one))}`),
    ]),
    ...(detail?.comments ?? []).flatMap((c) => [
      '',
      ...paragraphs(`${plain(c.author.name)}, ${ago(c.createdAt)}${c.asks ? ', question' : ''}: ${c.body}`),
    ]),
  )
}
