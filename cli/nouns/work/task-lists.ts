/** `tutti tasks list`: filters that exclude, and groups. */
import type { TaskGroup } from '../../../src/features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../../../src/features/tasks/schema.ts'
import { priorities, statuses } from '../../../src/records/task-states.ts'
import { withQuery } from '../../api/reference.ts'
import { type Column, safeLine, tableLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { type Call, type CommandOutput, choice, type Field, text } from '../noun.ts'
import { emptyMessage, fetchPages, listOutput, openOnly } from '../resource.ts'

export const groupings = ['status', 'priority', 'assignee', 'holder', 'label', 'epic', 'project'] as const

export const notFields: Field[] = [
  text('--not-label <label>', 'only tasks without these labels, separated by commas'),
  choice('--not-status <status>', statuses),
  choice('--not-priority <priority>', priorities),
  text('--not-assignee <who>', 'only tasks that these people or agents are not assigned to'),
]
const negated = { notLabel: 'label', notStatus: 'status', notPriority: 'priority', notAssignee: 'assignee' } as const

/** Writes `--not-label docs` as the filter `label=!docs`. */
function withNegations(fields: Record<string, unknown>): Record<string, unknown> {
  const query = { ...fields }
  for (const [option, name] of Object.entries(negated)) {
    const value = query[option]
    delete query[option]
    if (value === undefined) continue
    if (query[name] !== undefined) throw new Refusal(`Use --${name} or --not-${name}, not both.`)
    query[name] = String(value)
      .split(',')
      .map((part) => `!${part.trim()}`)
      .join(',')
  }
  return query
}

const columns: Column<TaskItem>[] = [
  { title: 'Task', of: (t) => t.key },
  { title: 'Status', of: (t) => (t.blockedBy.length > 0 ? `${t.status}, blocked` : t.status) },
  { title: 'Priority', of: (t) => t.priority },
  { title: 'Title', of: (t) => t.title, wide: true },
  { title: 'Assignee', of: (t) => t.lease?.holder.name ?? t.assignee?.name },
]

export async function listTasks({ client, fields, inProject }: Call): Promise<CommandOutput> {
  const query: Record<string, unknown> = { ...withNegations(openOnly(fields)), ...(await inProject()) }
  const none = emptyMessage('tasks', fields)
  if (fields.group === undefined)
    return listOutput(await fetchPages<TaskItem>(client, '/api/tasks', query), columns, none)
  const { all, ...rest } = query
  const value = await client.get<{ groups: TaskGroup[] }>(withQuery('/api/tasks', all ? { limit: 200, ...rest } : rest))
  const groups = value.groups.filter(({ total }) => total > 0)
  return {
    value,
    lines: groups.flatMap((group, place) => [...(place > 0 ? [''] : []), ...groupLines(group)]),
    note:
      groups.length === 0
        ? none
        : groups.some(isCut)
          ? 'More results exist. To see them, use a higher --limit.'
          : undefined,
  }
}

const isCut = ({ total, items }: TaskGroup): boolean => items.length < total
const groupLines = ({ value, name, total, items }: TaskGroup): string[] => [
  `${safeLine(name ?? value ?? 'none')} (${total})`,
  ...tableLines(items, columns).map((line) => `  ${line}`),
]
