import * as memory from '../../src/features/memory/service.ts'
import { act, ago, type Moment, minutesAgo, type Step, type Who } from './script.ts'

const inLantern = (at: Moment, by: Who, title: string, content: string, tags: string[], importance = 0.5): Step =>
  act(
    at,
    by,
    memory.storePrepared,
    { scope: 'project', scopeId: 'lantern', title, content, tags, importance },
    `memory ${title}`,
  )

export const memorySteps: Step[] = [
  inLantern(
    ago(33, '16:00'),
    'codex',
    'Use the fake clock in sync tests',
    'Tests of sync use `fakeClock()`. Two real timers made run 1018 fail once in fifty.',
    ['testing', 'sync'],
    0.8,
  ),
  inLantern(
    ago(29, '17:10'),
    'claude',
    'Where the reader begins',
    'reader/open.ts is the only way to a book. Everything else calls it; the old cache used to bypass it.',
    ['architecture'],
    0.6,
  ),
  inLantern(
    ago(25, '17:30'),
    'claude',
    'Highlights are never deleted',
    'A removal is a change of its own. Do not write DELETE on highlights: two devices will bring them back.',
    ['sync'],
    0.9,
  ),
  inLantern(
    ago(22, '15:40'),
    'ben',
    'The oldest phone',
    'The oldest phone that a library still lends has 1 GB of memory. It lies in the second drawer; its PIN is on the back.',
    ['testing', 'performance'],
    0.7,
  ),
  inLantern(
    ago(21, '16:20'),
    'codex',
    'Blocks are chapters',
    'A block is a chapter. Read the index before the first block.',
    ['format'],
    0.6,
  ),
  inLantern(
    ago(14, '17:05'),
    'claude',
    'The cover cache ignores Vary',
    'The cover cache ignores Vary, so flight mode shows old covers. The edition must be part of the key (LAN-25).',
    ['offline', 'covers'],
    0.9,
  ),
  act(ago(8, '13:40'), 'claude', memory.storePrepared, (id) => ({
    title: 'Blocks have one size',
    content: 'A block has 256 KB, the last one less. There is no index any more; its number is its place.',
    tags: ['format', 'offline'],
    importance: 0.9,
    supersedes: id('memory Blocks are chapters'),
  })),
  inLantern(
    ago(6, '10:30'),
    'codex',
    'Run the flight-mode tests alone',
    '`bun test offline --serial`: they turn the network of the whole machine off, and other tests fail meanwhile.',
    ['testing', 'offline'],
    0.7,
  ),
  inLantern(
    minutesAgo(66),
    'claude',
    'Opening a book allocates the bitmap twice',
    'store/block.ts reads the bitmap for the size and again for the pages. Harmless, but 8 MB on the largest book.',
    ['performance'],
    0.4,
  ),
  act(ago(16, '10:00'), 'codex', memory.storePrepared, {
    scope: 'project',
    scopeId: 'harbour',
    title: 'The build machine has no IPv6',
    content: 'Tests that listen on ::1 are skipped on build-1. Look at the log before you trust a green run.',
    tags: ['testing'],
    importance: 0.6,
  }),
  act(ago(20, '11:20'), 'reviewer', memory.storePrepared, {
    scope: 'agent',
    title: 'What Ada asks for in a review',
    content: 'The test that fails without the change, named first. Then the risk. Style only if it hides a defect.',
    tags: ['review'],
    importance: 0.8,
  }),
  act(ago(10, '09:30'), 'reviewer', memory.storePrepared, {
    scope: 'agent',
    title: 'Chiara’s changes come with pictures',
    content:
      'Changes of the interface have pictures in the pull request. Ask for the one at 320 points if it is missing.',
    tags: ['review', 'accessibility'],
  }),
  act(ago(12, '16:30'), 'ada', memory.storePrepared, (_, { now }) => ({
    scope: 'project' as const,
    scopeId: 'lantern',
    title: 'Freeze of the catalogue',
    content: 'Riverbank changes its catalogue this month. Do not touch the import until it is over.',
    tags: ['riverbank'],
    expiresAt: new Date(now.getTime() + 9 * 86_400_000).toISOString(),
  })),
]
