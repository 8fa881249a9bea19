import type { Comment, NextTask, Task, TaskCompleted, TaskDetail, TaskItem } from '../../src/features/tasks/schema.ts'
import type { Client } from '../client.ts'
import {
  at,
  count,
  flag,
  listed,
  many,
  type Page,
  paging,
  projectId,
  query,
  record,
  type Shown,
  shown,
  text,
  time,
  type Verb,
} from '../noun.ts'
import { ago, day } from '../output.ts'

const fields = [
  text('-d, --description <text>', 'what is to be done; - reads it from standard input'),
  text('--priority <priority>', 'critical, high, medium or low'),
  text('-a, --assignee <who>', 'me, an e-mail address, or an agent'),
  many('-l, --label <label>', 'a label', 'labels'),
  time('--due <time>', 'when it should be done', 'dueAt'),
  count('--estimate <number>', 'how much work it is'),
  many('--accept <text>', 'what must be true when it is done', 'acceptance'),
  many('--blocked-by <task>', 'a task that it waits for', 'blockedBy'),
  text('--story <id>', 'the story that it belongs to', { as: 'storyId' }),
  text('--parent <id>', 'the task that it is a part of', { as: 'parentId' }),
  text('--status <status>', 'backlog, todo, in_progress, blocked, in_review, done or cancelled'),
]
/** Criteria are typed as lines. */
const body = ({ acceptance, ...rest }: Record<string, unknown>) =>
  acceptance ? { ...rest, acceptance: (acceptance as string[]).map((text) => ({ text, done: false })) } : rest

function one(task: Task | TaskDetail): Shown {
  const detail = 'waitsFor' in task ? task : undefined
  return shown(
    task,
    ...record(
      {
        Task: `${task.key} ${task.title}`,
        Status: task.status,
        Priority: task.priority,
        Assignee: task.assignee?.name,
        Labels: task.labels.join(', '),
        Due: task.dueAt && day(task.dueAt),
        Estimate: task.estimate,
        'Waits for': task.blockedBy.join(', '),
        Frees: detail?.frees.map((t) => t.key).join(', '),
        'At work': task.lease && `${task.lease.holder.name} until ${task.lease.expiresAt}`,
        Id: task.id,
      },
      task.description,
    ),
    ...(task.acceptance.length > 0 ? ['', ...task.acceptance.map((a) => `[${a.done ? 'x' : ' '}] ${a.text}`)] : []),
    ...(task.completionNotes ? ['', `Done: ${task.completionNotes}`] : []),
    ...(detail?.comments ?? []).flatMap((c) => ['', `${c.author.name}, ${ago(c.createdAt)}: ${c.body}`]),
  )
}

async function projectOf(client: Client, project: () => Promise<string | undefined>): Promise<{ projectId?: string }> {
  const named = await project()
  return named ? { projectId: await projectId(client, named) } : {}
}

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List tasks, last changed first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      text('--status <status>', 'only those'),
      text('-a, --assignee <who>', 'me, an e-mail address, or an agent'),
      text('-l, --label <label>', 'only those'),
      flag('--ready', 'only what can be started now'),
      text('--search <words>', 'only those'),
      ...paging,
    ],
    examples: ['tasks list --assignee me', 'tasks list --ready --json'],
    run: async (call) => {
      const project = await call.project()
      const page = await call.client.get<Page<TaskItem>>(
        query('/api/tasks', { ...call.fields, projectId: project && (await projectId(call.client, project)) }),
      )
      return listed(
        page,
        [
          { title: 'Task', of: (t) => t.key },
          { title: 'Status', of: (t) => (t.blockedBy.length > 0 ? `${t.status}, waits` : t.status) },
          { title: 'Priority', of: (t) => t.priority },
          { title: 'Title', of: (t) => t.title, wide: true },
          { title: 'Who', of: (t) => t.lease?.holder.name ?? t.assignee?.name },
        ],
        'No tasks.',
      )
    },
  },
  {
    name: 'show',
    args: '<task>',
    about: 'Show a task with what it waits for, frees and its comments',
    run: async ({ client, args }) => one(await client.get<TaskDetail>(at('/api/tasks/:id', ...args))),
  },
  {
    name: 'create',
    args: '<title>',
    about: 'Add a task',
    inProject: true,
    fields,
    examples: [
      'tasks create "Lock the data folder" --label backend --accept "a second process is refused"',
      'git log -1 --format=%b | tutti tasks create "Review it" -d -',
    ],
    run: async ({ client, args: [title], fields, needProject }) =>
      one(await client.post<Task>(at('/api/projects/:slug/tasks', await needProject()), { title, ...body(fields) })),
  },
  {
    name: 'update',
    args: '<task>',
    about: 'Change a task',
    fields: [text('-t, --title <title>', 'a new title'), ...fields],
    run: async ({ client, args, fields }) => one(await client.request<Task>('PATCH', at('/api/tasks/:id', ...args), body(fields))),
  },
  {
    name: 'next',
    about: 'Take the task that should be done next',
    inProject: true,
    fields: [
      flag('--look', 'only show it'),
      count('--minutes <number>', 'keep it that long without a sign of life'),
      text('--agent <agent>', 'for this agent'),
    ],
    run: async ({ client, fields: { look, ...rest }, project }) => {
      const next = await client.post<NextTask>('/api/tasks/next', {
        ...rest,
        ...(await projectOf(client, project)),
        ...(look === true && { claim: false }),
      })
      return {
        value: next,
        lines: [
          ...(next.task ? [...one(next.task).lines, ''] : []),
          next.why,
          ...next.waiting.map((t) => `  ${t.key} ${t.title}: ${t.reason}`),
        ],
      }
    },
  },
  {
    name: 'claim',
    args: '<task>',
    about: 'Take a task, so that nobody else does',
    fields: [count('--minutes <number>', 'keep it that long without a sign of life'), text('--agent <agent>', 'for this agent')],
    run: async ({ client, args, fields }) => one(await client.post<Task>(at('/api/tasks/:id/claim', ...args), fields)),
  },
  {
    name: 'release',
    args: '<task>',
    about: 'Give a task back',
    run: async ({ client, args }) => one(await client.post<Task>(at('/api/tasks/:id/release', ...args))),
  },
  {
    name: 'done',
    args: '<task>',
    about: 'Complete a task; says what it freed and what comes next',
    aliases: ['complete'],
    fields: [
      text('--notes <text>', 'what was done; - reads it from standard input'),
      flag('--force', 'although tasks are open that it waits for'),
    ],
    run: async ({ client, args, fields }) => {
      const answer = await client.post<TaskCompleted>(at('/api/tasks/:id/complete', ...args), fields)
      return shown(
        answer,
        `${answer.key} is done.`,
        answer.freed.length > 0 ? `Freed: ${answer.freed.map((t) => `${t.key} ${t.title}`).join(', ')}` : undefined,
        answer.next ? `Next: ${answer.next.key} ${answer.next.title}` : undefined,
      )
    },
  },
  {
    name: 'comment',
    args: '<task> <text>',
    about: 'Comment on a task; - reads the text from standard input',
    run: async ({ client, args: [task, body] }) =>
      shown(await client.post<Comment>(at('/api/tasks/:id/comments', task), { body }), 'Said.'),
  },
  {
    name: 'delete',
    args: '<task>',
    about: 'Delete a task',
    run: async ({ client, args }) => shown(await client.request('DELETE', at('/api/tasks/:id', ...args)), `Deleted ${args[0]}.`),
  },
]
