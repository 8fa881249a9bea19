import { contextOf } from '../../src/action.ts'
import { system } from '../../src/auth/actor.ts'
import type { Evidence } from '../../src/features/projects/workflow/workflow-schema.ts'
import { observe } from '../../src/features/repositories/observe.ts'
import { advanceFeature, overrideGate, reviewFeature } from '../../src/features/workflow/advancing.ts'
import { get } from '../../src/features/workflow/detail.ts'
import * as workflow from '../../src/features/workflow/service.ts'
import { HARBOUR, LANTERN } from './code-host.ts'
import { act, ago, type Moment, minutesAgo, type Person, people, type Step, type Who } from './script.ts'

const pull = (number: number, repository = LANTERN) => `${repository}/pulls/${number}`
const run = (number: number, repository = LANTERN) => `${repository}/actions/runs/${number}`

/** Advances a feature. With `asked`, the code host is asked at once whether it has what the evidence names. */
const moves = (at: Moment, by: Who, feature: string, evidence?: Evidence, level?: 'asked' | 'verified'): Step => ({
  at,
  by,
  run: async (ctx, stage) => {
    const ref = stage.id(feature)
    await advanceFeature(ctx, { ref, evidence, ...(level === 'verified' && { level }) })
    if (level !== 'asked') return
    const { evidence: given } = await get(ctx, { ref })
    const last = given.find((e) => e.evidence.summary === evidence?.summary)
    await observe(contextOf(stage.app, system), { evidenceId: last?.id as string })
  },
})

const verdict = (at: Moment, by: Person, feature: string, given: 'approved' | 'changes_requested', comments: string) =>
  act(at, by, reviewFeature, (id) => ({ ref: id(feature), verdict: given, comments }))

const offline: Step[] = [
  act(
    ago(36, '15:30'),
    'ada',
    workflow.create,
    {
      project: 'lantern',
      title: 'Offline reading',
      description: 'What was downloaded can be read from the first to the last page with no network at all.',
      priority: 'critical',
      assignee: people.ada.email,
      taskIds: ['LAN-1', 'LAN-6'],
    },
    'offline reading',
  ),
  moves(ago(34, '10:00'), 'ada', 'offline reading'),
  moves(
    ago(19, '16:10'),
    'claude',
    'offline reading',
    {
      summary: 'The reader opens the local copy first; the old file cache is gone.',
      commits: ['71f0d6b'],
      pullRequests: [pull(279)],
    },
    'asked',
  ),
  moves(
    ago(15, '10:30'),
    'codex',
    'offline reading',
    { summary: '188 of 188 reader tests pass with the network off.', testRuns: [run(1058)] },
    'asked',
  ),
  moves(ago(13, '14:00'), 'ada', 'offline reading', {
    summary: 'A chapter for readers, and one for librarians.',
    files: ['docs/offline.md', 'docs/librarians.md'],
  }),
  verdict(
    ago(12, '11:03'),
    'ben',
    'offline reading',
    'changes_requested',
    'The size of the store must be shown before a download starts. LAN-48 is for that.',
  ),
  act(ago(12, '12:20'), 'ada', workflow.update, (id) => ({
    ref: id('offline reading'),
    specId: 'block-store',
    taskIds: ['LAN-1', 'LAN-6', 'LAN-10', 'LAN-25', 'LAN-36', 'LAN-42', 'LAN-43', 'LAN-47', 'LAN-48'],
  })),
  moves(ago(11, '09:00'), 'ada', 'offline reading'),
  moves(
    ago(4, '17:40'),
    'claude',
    'offline reading',
    {
      summary: 'Pages come from the block store.',
      commits: ['b7e4019', '5d20c7a'],
      pullRequests: [pull(301)],
      files: ['store/block.ts', 'reader/pages.ts'],
    },
    'asked',
  ),
  moves(
    ago(1, '17:20'),
    'chiara',
    'offline reading',
    {
      summary: 'Two hours in flight mode on three phones: every page, cover and font was there.',
      tests: { command: 'bun test reader', passed: 209, failed: 0 },
      testRuns: [run(1102)],
    },
    'verified',
  ),
]

const encrypted: Step[] = [
  act(
    ago(10, '15:00'),
    'ada',
    workflow.create,
    {
      project: 'lantern',
      title: 'Encrypted shelf',
      description: 'A lost phone gives away nothing about its reader.',
      priority: 'high',
      assignee: people.ben.email,
      taskIds: ['LAN-39', 'LAN-51'],
    },
    'encrypted shelf',
  ),
  moves(ago(9, '09:20'), 'ben', 'encrypted shelf'),
  moves(
    ago(3, '15:15'),
    'codex',
    'encrypted shelf',
    { summary: 'The shelf is encrypted with a key per device.', commits: ['e91f3b2'], pullRequests: [pull(316)] },
    'asked',
  ),
  moves(
    ago(2, '11:00'),
    'codex',
    'encrypted shelf',
    { summary: 'Nothing readable in the folder; opening costs 14 ms more.', links: [run(1149)] },
    'asked',
  ),
  moves(minutesAgo(74), 'ben', 'encrypted shelf', {
    summary: 'What is encrypted, what is not, and how to change the key.',
    files: ['docs/security.md'],
  }),
]

const others: Step[] = [
  act(
    ago(23, '15:00'),
    'ben',
    workflow.create,
    {
      project: 'lantern',
      title: 'Sync you can see',
      description: 'A line under the shelf says what sync does, and a page says what it did.',
      assignee: people.ben.email,
      taskIds: ['LAN-15', 'LAN-23'],
    },
    'visible sync',
  ),
  moves(ago(22, '09:00'), 'ben', 'visible sync'),
  moves(
    ago(19, '11:00'),
    'ben',
    'visible sync',
    { summary: 'Status line and history page.', commits: ['03ac9d4'], pullRequests: [pull(288)] },
    'asked',
  ),
  moves(ago(18, '09:30'), 'codex', 'visible sync', { summary: '61 of 61 pass.', links: [run(1044)] }, 'asked'),
  moves(ago(18, '15:00'), 'ben', 'visible sync', { summary: 'The words of each state.', files: ['docs/sync.md'] }),
  verdict(ago(17, '10:10'), 'ada', 'visible sync', 'approved', 'I finally know what my phone is doing.'),
  act(
    ago(14, '09:05'),
    'chiara',
    workflow.create,
    { project: 'lantern', title: 'Old covers after an edit', kind: 'bug', priority: 'high', taskIds: ['LAN-25'] },
    'old covers',
  ),
  moves(ago(14, '09:10'), 'claude', 'old covers'),
  moves(
    ago(14, '16:40'),
    'claude',
    'old covers',
    { summary: 'The edition is part of the cache key.', commits: ['c2275e8'] },
    'asked',
  ),
  moves(ago(13, '09:15'), 'claude', 'old covers', {
    summary: 'A test that fails without it.',
    tests: { command: 'bun test test/covers.ts', passed: 12, failed: 0 },
  }),
  verdict(ago(13, '10:00'), 'chiara', 'old covers', 'approved', 'Checked on both of my phones.'),
  act(
    ago(12, '14:00'),
    'chiara',
    workflow.create,
    {
      project: 'lantern',
      title: 'Larger reading controls',
      assignee: people.chiara.email,
      taskIds: ['LAN-44', 'LAN-28'],
    },
    'larger controls',
  ),
  moves(ago(10, '09:00'), 'chiara', 'larger controls'),
  moves(ago(6, '10:00'), 'chiara', 'larger controls', { summary: 'Targets of 44 points.', files: ['reader/bar.css'] }),
  moves(ago(5, '10:00'), 'chiara', 'larger controls', {
    summary: 'Tried with five readers.',
    tests: { command: 'bun test test/bar.ts', passed: 31, failed: 0 },
  }),
  moves(ago(5, '11:30'), 'chiara', 'larger controls', { summary: 'New pictures.', files: ['docs/reader.md'] }),
  verdict(
    ago(2, '14:20'),
    'ada',
    'larger controls',
    'changes_requested',
    'At 320 points and text of 200 % the bar covers the last line.',
  ),
  act(
    ago(4, '15:30'),
    'ada',
    workflow.create,
    { project: 'lantern', title: 'Shared shelves', taskIds: ['LAN-63', 'LAN-65'], assignee: people.chiara.email },
    'shared shelves',
  ),
  moves(ago(3, '13:30'), 'chiara', 'shared shelves'),
  // This commit was never pushed, so the gate opens again.
  moves(
    ago(1, '16:45'),
    'codex',
    'shared shelves',
    { summary: 'A shelf can be shared with a link.', commits: ['4c19e7d'] },
    'asked',
  ),
  act(
    ago(8, '15:00'),
    'ben',
    workflow.create,
    (id) => ({
      project: 'lantern',
      title: 'Metered links',
      description: 'Nothing large is fetched over a link that costs money, unless the reader says so.',
      taskIds: ['LAN-52'],
      blockedBy: [id('offline reading')],
    }),
    'metered links',
  ),
  act(
    ago(35, '15:00'),
    'ada',
    workflow.create,
    { project: 'lantern', title: 'Import from 1.x', kind: 'chore' },
    'import',
  ),
  act(ago(34, '15:00'), 'ada', overrideGate, (id) => ({
    ref: id('import'),
    status: 'done',
    reason: 'Shipped with 1.8, before we used gates.',
  })),
]

const harbour: Step[] = [
  act(
    ago(28, '12:00'),
    'ben',
    workflow.create,
    { project: 'harbour', title: 'Limits per library', taskIds: ['HAR-3', 'HAR-4'], assignee: people.ben.email },
    'limits',
  ),
  moves(ago(27, '09:00'), 'ben', 'limits'),
  moves(
    ago(18, '16:30'),
    'codex',
    'limits',
    { summary: 'A bucket per library.', commits: ['9b8817c'], pullRequests: [pull(57, HARBOUR)] },
    'asked',
  ),
  moves(ago(17, '10:30'), 'codex', 'limits', { summary: '96 of 96 pass.', links: [run(402, HARBOUR)] }, 'asked'),
  moves(ago(17, '15:00'), 'ben', 'limits', { summary: 'A page for operators.', files: ['docs/limits.md'] }),
  verdict(ago(16, '09:40'), 'ada', 'limits', 'approved', 'The school in Ytterby will be glad.'),
  act(
    ago(15, '12:30'),
    'ben',
    workflow.create,
    { project: 'harbour', title: 'Backups while serving', taskIds: ['HAR-6', 'HAR-7'], assignee: people.ben.email },
    'backups',
  ),
  moves(ago(12, '09:30'), 'ben', 'backups'),
  moves(
    ago(2, '13:40'),
    'ben',
    'backups',
    { summary: 'The store is copied while it serves.', commits: ['a40be51'], pullRequests: [pull(64, HARBOUR)] },
    'asked',
  ),
]

export const featureSteps: Step[] = [...offline, ...encrypted, ...others, ...harbour]
