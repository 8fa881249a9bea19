import type { CompletedMany, CreatedMany } from '../../../src/features/tasks/many/many-schema.ts'
import type { Task, TaskCompleted } from '../../../src/features/tasks/schema.ts'
import { pathTo } from '../../api/reference.ts'
import { safeLine } from '../../terminal/output.ts'
import { type CommandOutput, flag, many, outputOf, text, type Verb } from '../noun.ts'
import { taskNames, taskOutput } from './task-lines.ts'

type Done = Pick<TaskCompleted, 'key' | 'already' | 'openCriteria' | 'freed'>

const completionLine = ({ key, already, openCriteria }: Done): string => {
  const state = already
    ? `was already done: ${already === 'added' ? 'your notes were added' : 'nothing was added'}.`
    : 'is done.'
  return `${key} ${state}${openCriteria ? ` Still open: ${openCriteria.map(safeLine).join('; ')}` : ''}`
}

function completionOutput(
  answer: TaskCompleted | CompletedMany,
  done: readonly Done[],
  { next, claimed, noNext }: Pick<TaskCompleted, 'next' | 'claimed' | 'noNext'> = answer,
): CommandOutput {
  const freed = done.flatMap((task) => task.freed).filter(({ key }) => !done.some((task) => task.key === key))
  return outputOf(
    answer,
    ...done.map(completionLine),
    freed.length > 0 ? `Unblocked: ${taskNames(freed)}` : undefined,
    next && !claimed ? `Next: ${taskNames([next])}` : undefined,
    noNext && safeLine(noNext),
    ...(claimed ? ['', ...taskOutput(claimed).lines] : []),
  )
}

/** Verbs that take several tasks at once. */
export const batchVerbs: Verb[] = [
  {
    name: 'done',
    args: '<task...>',
    about: 'Complete tasks, all or none; shows the unblocked tasks and the next one',
    aliases: ['complete'],
    fields: [
      text('-m, --notes <text>', 'what was done; "-" reads standard input'),
      many('--evidence <text>', 'file, commit, test run or link', 'evidence'),
      many('--accept <criterion>', 'acceptance criterion that is met: its number or text, or all', 'accepted'),
      flag('--next', 'claim the next task', 'claimNext'),
      flag('--force', 'complete a task even if tasks that block it are open'),
    ],
    examples: [
      'tutti tasks done TUT-42 -m "Locked with flock" --evidence 1a2b3c4',
      'tutti tasks done TUT-42 --accept 1 --accept 2 --next',
    ],
    run: async ({ client, args, fields: { accepted, ...fields } }) => {
      const how = {
        ...fields,
        ...(Array.isArray(accepted) && { accepted: accepted.includes('all') ? 'all' : accepted }),
      }
      if (args.length > 1) {
        const answer = await client.post<CompletedMany>('/api/tasks/complete', { tasks: args, ...how })
        return completionOutput(answer, answer.items)
      }
      const answer = await client.post<TaskCompleted>(pathTo('/api/tasks/:id/complete', ...args), how)
      return completionOutput(answer, [answer])
    },
  },
  {
    name: 'split',
    args: '<task> <title...>',
    about: 'Split a task into subtasks',
    examples: ['tutti tasks split TUT-42 "Write the lock" "Test it"'],
    run: async ({ client, args: [ref, ...titles] }) => {
      const { projectId, key } = await client.get<Task>(pathTo('/api/tasks/:id', ref))
      const answer = await client.post<CreatedMany>(pathTo('/api/projects/:slug/tasks/batch', projectId), {
        parent: key,
        tasks: titles.map((title) => ({ title })),
      })
      return outputOf(answer, ...answer.items.map((task) => taskNames([task])))
    },
  },
]
