import type { Comment, NextTask, Task, TaskDetail } from '../../../src/features/tasks/schema.ts'
import { priorities, statuses } from '../../../src/records/task-states.ts'
import { pathTo } from '../../api/reference.ts'
import { safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import {
  type Call,
  type CommandOutput,
  choice,
  clearable,
  count,
  flag,
  listChange,
  many,
  outputOf,
  reference,
  text,
  time,
  type Verb,
} from '../noun.ts'
import { deletedOutput, restoreVerb, sorting, workPaging } from '../resource.ts'
import { batchVerbs } from './task-batches.ts'
import { changeVerb } from './task-changes.ts'
import { isTaskRef, taskNames, taskOutput } from './task-lines.ts'
import { groupings, listTasks, notFields } from './task-lists.ts'

const priority = choice('--priority <priority>', priorities)
const assignee = text('-a, --assignee <who>', 'me, an e-mail address or an agent')
const parent = (about: string) => reference('--parent <task>', about, '/api/tasks', 'parentId')
const fields = [
  clearable(text('-d, --description <text>', 'what to do; "-" reads standard input')),
  priority,
  clearable(assignee),
  many('-l, --label <label>', 'label', 'labels'),
  clearable(time('--due <time>', 'due date', 'dueAt')),
  clearable(count('--estimate <number>', 'estimated effort')),
  many('--accept <text>', 'acceptance criterion', 'acceptance'),
  many('--blocked-by <task>', 'task that must be done first', 'blockedBy'),
  clearable(parent('parent task')),
  clearable(text('--story <id>', 'story that the task belongs to', { as: 'storyId' })),
]
const lease = [
  count('--minutes <number>', 'lease length in minutes'),
  text('--agent <agent>', 'agent to claim the task for'),
]

const patchTask = async ({ client, args: [task] }: Call, change: object): Promise<CommandOutput> =>
  taskOutput(await client.request<Task>('PATCH', pathTo('/api/tasks/:id', task), change))
const fetchDetail = ({ client, args: [task] }: Call): Promise<TaskDetail> =>
  client.get<TaskDetail>(pathTo('/api/tasks/:id', task))
/** Returns the keys of the other tasks on the command line, whichever way they were referred to. */
const otherTaskKeys = ({ client, args: [, ...refs] }: Call): Promise<string[]> =>
  Promise.all(refs.map(async (ref) => (await client.get<Task>(pathTo('/api/tasks/:id', ref))).key))

const COMMENT = '/api/tasks/:id/comments/:commentId'

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List open tasks, last updated first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      choice('--status <status>', statuses),
      assignee,
      priority,
      text('-l, --label <label>', 'only tasks with one of these labels, separated by commas'),
      ...notFields,
      text('--updated-after <time>', 'only tasks updated since: a date, or -12h, -7d, -2w'),
      text('--holder <who>', 'only tasks that this person or agent holds'),
      flag('--leased', 'only tasks that someone holds'),
      time('--due-before <time>', 'only tasks due before this time'),
      time('--due-after <time>', 'only tasks due at or after this time'),
      text('--epic <id>', 'only tasks of this epic', { as: 'epicId' }),
      flag('--ready', 'only tasks that can be started now'),
      parent('only subtasks of this task'),
      text('--story <id>', 'only tasks of this story', { as: 'storyId' }),
      text('--search <words>', 'only tasks with all of these words'),
      ...sorting('updatedAt', 'createdAt', 'position', 'number', 'priority', 'dueAt', 'completedAt'),
      choice('--group <property>', groupings),
      ...workPaging,
    ],
    examples: [
      'tutti tasks list --assignee me',
      'tutti tasks list --label db --all',
      'tutti tasks list --status todo,blocked --assignee none --sort priority',
      'tutti tasks list --not-label docs --group assignee',
      'tutti tasks list --ready --json',
    ],
    run: listTasks,
  },
  {
    name: 'show',
    args: '<task>',
    about: 'Show a task with its dependencies and comments',
    examples: ['tutti tasks show TUT-42'],
    run: async (call) => taskOutput(await fetchDetail(call)),
  },
  {
    name: 'create',
    args: '<title>',
    about: 'Create a task',
    aliases: ['add'],
    inProject: true,
    fields: [...fields, choice('--status <status>', ['backlog', 'todo'], 'todo')],
    examples: [
      'tutti tasks create "Lock the folder" -l db --accept "a second one waits"',
      'git log -1 --format=%b | tutti tasks create "Review it" -d -',
    ],
    run: async ({ client, args: [title], fields, needProject }) =>
      taskOutput(
        await client.post<Task>(pathTo('/api/projects/:slug/tasks', await needProject()), { title, ...fields }),
      ),
  },
  {
    name: 'update',
    args: '<task>',
    about: 'Update a task',
    fields: [
      text('-t, --title <title>', 'new title'),
      ...fields,
      choice('--status <status>', statuses),
      listChange('--add-label <label>', 'label to add', 'addLabels'),
      listChange('--remove-label <label>', 'label to remove', 'removeLabels'),
      text('-m, --comment <text>', 'comment to add'),
      listChange('--evidence <text>', 'file, commit, test run or link to add', 'evidence'),
    ],
    examples: [
      'tutti tasks update TUT-42 --priority high --add-label db',
      'tutti tasks update TUT-42 --assignee none --status backlog',
    ],
    run: (call) => patchTask(call, call.fields),
  },
  {
    name: 'next',
    about: 'Claim the task that should be done next',
    inProject: true,
    fields: [flag('--look', 'show it without claiming it'), ...lease],
    online: true,
    examples: ['tutti tasks next', 'tutti tasks next --look'],
    run: async ({ client, fields: { look, ...rest }, inProject }) => {
      const next = await client.post<NextTask>('/api/tasks/next', {
        ...rest,
        ...(await inProject()),
        ...(look === true && { claim: false }),
      })
      if (next.task) return { value: next, lines: [...taskOutput(next.task).lines, '', safeLine(next.why)] }
      if (next.waiting.length === 0)
        return {
          value: next,
          lines: [],
          note: 'No open tasks. Create one: tutti tasks create "What to do"',
        }
      const waiting = next.waiting.map((t) => `  ${taskNames([t])}: ${safeLine(t.reason)}`)
      return { value: next, lines: [], note: ['No task can be started now:', ...waiting].join('\n') }
    },
  },
  {
    name: 'claim',
    args: '<task>',
    about: 'Claim a task for yourself; repeat to extend the claim',
    aliases: ['start'],
    fields: lease,
    online: true,
    examples: ['tutti tasks claim TUT-42'],
    run: async ({ client, args, fields }) =>
      taskOutput(await client.post<Task>(pathTo('/api/tasks/:id/claim', ...args), fields)),
  },
  {
    name: 'release',
    args: '<task>',
    about: 'Release a task that you claimed',
    fields: [text('-m, --note <text>', 'what the next worker should know; becomes a comment')],
    online: true,
    examples: ['tutti tasks release TUT-42 -m "The lock works; tests are missing"'],
    run: async ({ client, args, fields }) =>
      taskOutput(await client.post<Task>(pathTo('/api/tasks/:id/release', ...args), fields)),
  },
  {
    name: 'check',
    args: '<task> <number...>',
    about: 'Check off acceptance criteria',
    fields: [flag('--undo', 'uncheck them')],
    examples: ['tutti tasks check TUT-42 1 2'],
    run: async (call) => {
      const { acceptance, key } = await fetchDetail(call)
      const wanted = call.args.slice(1).map(Number)
      const wrong = wanted.find((n) => !acceptance[n - 1])
      if (wrong !== undefined)
        throw new Refusal(
          `${key} has ${acceptance.length} acceptance criteria. List them with: tutti tasks show ${key}`,
        )
      return patchTask(call, {
        acceptance: acceptance.map((a, i) => (wanted.includes(i + 1) ? { ...a, done: !call.fields.undo } : a)),
      })
    },
  },
  changeVerb,
  ...batchVerbs,
  {
    name: 'block',
    args: '<task> [by...]',
    about: 'Mark a task as blocked, by other tasks or for a reason, which becomes a comment',
    examples: ['tutti tasks block TUT-42 TUT-41', 'tutti tasks block TUT-42 "waits for the new certificate"'],
    run: async (call) => {
      const [task, ...words] = call.args
      const reason = words.every(isTaskRef) ? undefined : words.join(' ')
      if (words.length === 0 || reason !== undefined) {
        const blocked = await patchTask(call, { status: 'blocked' })
        if (reason !== undefined) await call.client.post(pathTo('/api/tasks/:id/comments', task), { body: reason })
        return blocked
      }
      return patchTask(call, { addBlockedBy: await otherTaskKeys(call) })
    },
  },
  {
    name: 'unblock',
    args: '<task> [by...]',
    about: 'Remove blockers from a task: the given ones, or all',
    examples: ['tutti tasks unblock TUT-42 TUT-41', 'tutti tasks unblock TUT-42'],
    run: async (call) => {
      const task = await fetchDetail(call)
      const by = await otherTaskKeys(call)
      const change = by.length === 0 ? { blockedBy: [] } : { removeBlockedBy: by }
      return patchTask(call, { ...change, ...(task.status === 'blocked' && { status: 'todo' }) })
    },
  },
  {
    name: 'cancel',
    args: '<task>',
    about: 'Cancel a task',
    examples: ['tutti tasks cancel TUT-42'],
    run: (call) => patchTask(call, { status: 'cancelled' }),
  },
  {
    name: 'reopen',
    args: '<task>',
    about: 'Reopen a task that is done or cancelled',
    examples: ['tutti tasks reopen TUT-42'],
    run: (call) => patchTask(call, { status: 'todo' }),
  },
  {
    name: 'comment',
    args: '<task> <text>',
    about: 'Comment on a task; "-" reads the text from standard input',
    fields: [
      flag('--asks', 'mark it as a question: it appears in the inbox of those concerned'),
      text('--edit <comment>', 'replace the text of this comment, by its id'),
    ],
    examples: ['tutti tasks comment TUT-42 "Works on macOS too"', 'tutti tasks comment TUT-42 "Which port?" --asks'],
    run: async ({ client, args: [task, body], fields: { edit, ...how } }) =>
      edit
        ? outputOf(
            await client.request<Comment>('PATCH', pathTo(COMMENT, task, String(edit)), { body, ...how }),
            'Comment changed.',
          )
        : outputOf(
            await client.post<Comment>(pathTo('/api/tasks/:id/comments', task), { body, ...how }),
            'Comment added.',
          ),
  },
  {
    name: 'uncomment',
    args: '<task> <comment>',
    about: 'Delete a comment, by its id',
    online: true,
    examples: ['tutti tasks uncomment TUT-42 019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'],
    run: async ({ client, args: [task, comment] }) =>
      outputOf(await client.request<{ id: string }>('DELETE', pathTo(COMMENT, task, comment)), 'Comment deleted.'),
  },
  {
    name: 'delete',
    args: '<task>',
    about: 'Delete a task and its subtasks',
    examples: ['tutti tasks delete TUT-42'],
    run: async ({ client, args }) =>
      deletedOutput(
        await client.request<{ id: string }>('DELETE', pathTo('/api/tasks/:id', ...args)),
        'tasks',
        args[0],
      ),
  },
  restoreVerb<Task>('tasks', '/api/tasks', 'task', 'TUT-42', taskOutput),
]
