import * as integrations from '../../src/features/integrations/service.ts'
import * as issues from '../../src/features/issues/service.ts'
import * as links from '../../src/features/links/service.ts'
import * as notifications from '../../src/features/notifications/service.ts'
import * as repositories from '../../src/features/repositories/service.ts'
import { addComment } from '../../src/features/tasks/comments.ts'
import { relateTasks } from '../../src/features/tasks/dependencies/dependencies.ts'
import { claim } from '../../src/features/tasks/leases/leases.ts'
import * as tasks from '../../src/features/tasks/service.ts'
import * as views from '../../src/features/views/service.ts'
import { HARBOUR, HOST, LANTERN } from './code-host.ts'
import { act, ago, type Moment, people, type Step, type Who } from './script.ts'

const says = (at: Moment, by: Who, ref: string, body: string): Step => act(at, by, addComment, { ref, body })

/** The code host, and where Ada and Ben are notified. No request leaves this machine. */
const connected: Step[] = [
  act(ago(37, '12:00'), 'ada', integrations.put, {
    provider: 'gitea',
    secret: 'demo-token-of-ada',
    settings: { url: HOST, login: 'ada' },
  }),
  act(ago(36, '12:00'), 'ben', integrations.put, {
    provider: 'gitea',
    secret: 'demo-token-of-ben',
    settings: { url: HOST, login: 'ben' },
  }),
  act(ago(36, '12:05'), 'chiara', integrations.put, {
    provider: 'gitea',
    secret: 'demo-token-of-chiara',
    settings: { url: HOST, login: 'chiara' },
  }),
  act(ago(37, '12:10'), 'ada', repositories.connect, { repo: LANTERN, project: 'lantern' }, 'repo lantern'),
  act(ago(36, '12:10'), 'ben', repositories.connect, { repo: HARBOUR, project: 'harbour' }, 'repo harbour'),
  act(ago(20, '09:00'), 'ada', integrations.put, {
    provider: 'webhook',
    secret: 'https://hooks.northlight.example/tutti',
    settings: { enabled: false, events: ['review', 'security'] },
  }),
]

/** What happened before today to the tasks that are still open, and what people said. */
const talk: Step[] = [
  says(ago(28, '13:10'), 'ben', 'LAN-12', '@ada the queue grows by 2 KB per page turned. Fine, or should it fold?'),
  says(ago(28, '13:25'), 'ada', 'LAN-12', 'Fold when it reaches a megabyte. Not before: simple wins.'),
  says(
    ago(25, '13:00'),
    'reviewer',
    'LAN-16',
    'store/highlights.ts:88 sorts by time only. Equal times need the device.',
  ),
  says(ago(25, '13:30'), 'claude', 'LAN-16', 'Right. Device is the second key now, with a test for equal times.'),
  says(ago(22, '12:10'), 'ben', 'LAN-17', 'Does the catalogue not say it already?'),
  says(
    ago(14, '12:50'),
    'claude',
    'LAN-25',
    'Found it: both editions have the same cache key. Fixing the key, not the server.',
  ),
  says(
    ago(12, '12:50'),
    'codex',
    'LAN-32',
    'Run 1069 found one difference after 140,000 edits. It was the test, not the app.',
  ),
  act(ago(6, '16:00'), 'chiara', tasks.update, { ref: 'LAN-53', blockedBy: ['LAN-59'] }),
  act(ago(6, '16:02'), 'chiara', tasks.update, { ref: 'LAN-56', blockedBy: ['LAN-59'] }),
  act(ago(6, '16:05'), 'ben', relateTasks, { ref: 'LAN-42', task: 'LAN-47', kind: 'relates' }),
  act(ago(11, '16:10'), 'ben', relateTasks, { ref: 'LAN-48', task: 'LAN-36', kind: 'discovered_from' }),
  act(ago(5, '12:40'), 'ada', tasks.update, { ref: 'LAN-51', status: 'blocked' }),
  says(ago(5, '12:41'), 'ada', 'LAN-51', 'Blocked until the key of LAN-39 is final.'),
  act(ago(7, '12:40'), 'codex', claim, { ref: 'LAN-39', minutes: 300 }),
  act(ago(3, '14:50'), 'codex', tasks.update, {
    ref: 'LAN-39',
    acceptance: [
      { text: 'Nothing readable is left in the app’s folder', done: true },
      { text: 'Opening a book costs at most 20 ms more', done: true },
      { text: 'The key can be changed without a new download', done: false },
    ],
  }),
  says(
    ago(3, '14:55'),
    'codex',
    'LAN-39',
    'Encrypted with a key per device. Opening costs 14 ms more. PR 316, run 1149.',
  ),
  act(ago(2, '11:10'), 'ben', tasks.update, { ref: 'LAN-39', status: 'in_review' }),
  act(ago(9, '12:40'), 'chiara', tasks.update, { ref: 'LAN-44', status: 'in_progress' }),
  act(ago(5, '11:40'), 'chiara', tasks.update, { ref: 'LAN-44', status: 'in_review' }),
  says(ago(2, '14:25'), 'ada', 'LAN-44', '@chiara changes asked: at 320 points the bar covers the last line.'),
  act(ago(4, '12:35'), 'ben', tasks.update, { ref: 'LAN-47', status: 'in_progress' }),
  act(ago(2, '12:45'), 'ben', tasks.update, { ref: 'HAR-7', status: 'in_progress' }),
  act(ago(1, '12:30'), 'chiara', tasks.update, { ref: 'LAN-59', status: 'in_progress' }),
  says(ago(1, '14:40'), 'chiara', 'LAN-59', 'Small and medium are done. The large one waits for better originals.'),
  says(ago(5, '15:00'), 'chiara', 'LAN-63', 'A father removed a book that his daughter was reading. We need a rule.'),
  act(ago(2, '09:10'), 'ben', tasks.update, { ref: 'LAN-57', assignee: people.ada.email, priority: 'high' }),
  act(ago(1, '09:20'), 'ben', tasks.create, {
    projectRef: 'harbour',
    title: 'Show Ada’s library in the load page first',
    description: 'Found while testing: the list is in no order.',
    discoveredFrom: 'HAR-9',
    assignee: people.ada.email,
    labels: ['limits'],
    estimate: 1,
  }),
]

const linked: Step[] = [
  act(ago(8, '14:00'), 'ada', links.create, (id) => ({
    fromType: 'decision' as const,
    fromId: id('decision blocks'),
    toType: 'task' as const,
    toId: id('LAN-36'),
    kind: 'explains',
  })),
  act(ago(8, '14:01'), 'ada', links.create, (id) => ({
    fromType: 'spec' as const,
    fromId: id('spec blocks'),
    toType: 'task' as const,
    toId: id('LAN-42'),
    kind: 'specifies',
  })),
  act(ago(8, '14:02'), 'ada', links.create, (id) => ({
    fromType: 'decision' as const,
    fromId: id('decision blocks'),
    toType: 'task' as const,
    toId: id('LAN-42'),
  })),
]

/** Queries of the tasks that people come back to. */
const saved: Step[] = [
  act(ago(21, '09:40'), 'ben', views.create, (id) => ({
    name: 'Offline, not done yet',
    query: 'view=list&label=offline&status=backlog,todo,in_progress,blocked,in_review',
    projectId: id('lantern'),
    shared: true,
  })),
  act(ago(20, '10:05'), 'ada', views.create, (id) => ({
    name: 'Mine, by date',
    query: 'view=list&assignee=me&sort=dueAt',
    projectId: id('lantern'),
  })),
]

/** Problems with Tutti itself, as people report them to the administrator. */
const reported: Step[] = [
  act(
    ago(15, '13:00'),
    'chiara',
    issues.create,
    {
      title: 'Search finds the note but not its tag',
      description: 'I searched for "ops" and expected every note with that tag. I got one that has the word in it.',
    },
    'issue tags',
  ),
  act(ago(14, '09:00'), 'ada', issues.update, (id) => ({
    id: id('issue tags'),
    status: 'closed' as const,
    answer: 'Tags filter: choose the tag beside the search field. The manual says so now.',
  })),
  act(ago(6, '10:15'), 'dana', issues.create, {
    title: 'May a viewer write comments?',
    description: 'I see everything of Lantern, but I cannot say anything under a task. Is that meant?',
  }),
  act(ago(2, '16:45'), 'ben', issues.create, {
    title: 'A list loses its place when I go back',
    description: 'I open a task from the middle of the list and press Back. The list begins at the top.',
    priority: 'low',
  }),
]

export const weekSteps: Step[] = [
  ...connected,
  ...talk,
  ...linked,
  ...saved,
  ...reported,
  // Ada has read what came before yesterday.
  act(ago(2, '17:30'), 'ada', notifications.readAll, {}),
]
