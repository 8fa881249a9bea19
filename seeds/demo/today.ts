import type { Ctx } from '../../src/action.ts'
import * as activity from '../../src/features/activity/service.ts'
import * as announcements from '../../src/features/notifications/announcements.ts'
import { verify } from '../../src/features/tasks/acceptance/evidence.ts'
import { addComment } from '../../src/features/tasks/comments.ts'
import { getDetail } from '../../src/features/tasks/detail.ts'
import { claim } from '../../src/features/tasks/leases/leases.ts'
import { renewLeases } from '../../src/features/tasks/leases/renewal.ts'
import type { Acceptance } from '../../src/features/tasks/schema.ts'
import * as tasks from '../../src/features/tasks/service.ts'
import { LANTERN } from './code-host.ts'
import { act, minutesAgo, type Step, type Who } from './script.ts'

/** The title of the last thing that the demo creates: a demo without it was interrupted. */
export const LAST = 'Welcome to the Tutti demo'

const says = (minutes: number, by: Who, ref: string, body: string): Step =>
  act(minutesAgo(minutes), by, addComment, { ref, body })

const asks = (minutes: number, by: Who, ref: string, body: string): Step =>
  act(minutesAgo(minutes), by, addComment, { ref, body, asks: true })

const logs = (minutes: number, by: Who, task: string, type: string, description: string, metadata = {}): Step =>
  act(minutesAgo(minutes), by, activity.log, (id) => ({
    type,
    description,
    task,
    metadata,
    ...(by === 'claude' && { sessionId: id('session offline') }),
    ...(by === 'codex' && { sessionId: id('session resume') }),
  }))

/** Ticks the first criteria of a task. */
const ticks = (minutes: number, by: Who, ref: string, done: number): Step => ({
  at: minutesAgo(minutes),
  by,
  run: async (ctx) => {
    const { acceptance } = await tasks.get(ctx, { ref })
    await tasks.update(ctx, { ref, acceptance: acceptance.map((c: Acceptance, i) => ({ ...c, done: i < done })) })
  },
})

const proves = (minutes: number, by: Who, ref: string, ...evidence: string[]): Step =>
  act(minutesAgo(minutes), by, tasks.update, { ref, evidence })

/** Checks a piece of evidence of a task: the first one, the second one, … */
const verifies = (minutes: number, by: Who, ref: string, place: number): Step => ({
  at: minutesAgo(minutes),
  by,
  run: async (ctx) => {
    const { evidence } = await getDetail(ctx, { ref })
    await verify(ctx, { ref, evidenceId: evidence[place - 1]?.id ?? '' })
  },
})

/** Calls that change nothing, every 50 seconds from then until then. */
const callsFrom = (first: number, last: number, by: Who): Step[] =>
  Array.from({ length: Math.floor(((first - last) * 60) / 50) }, (_, i) => isSeen(first - (i * 50) / 60, by))

/** A call that changes nothing. It renews the leases of the agent, as every call does. */
const isSeen = (minutes: number, by: Who): Step => ({
  at: minutesAgo(minutes),
  by,
  run: async (ctx: Ctx) => renewLeases(ctx),
})

const claude: Step[] = [
  act(minutesAgo(110), 'claude', claim, (id) => ({ ref: 'LAN-36', minutes: 30, sessionId: id('session offline') })),
  logs(98, 'claude', 'LAN-36', 'commit', 'b7e4019 Store every book in blocks of 256 KB', {
    files: ['store/block.ts', 'store/bitmap.ts', 'test/block.ts'],
  }),
  logs(80, 'claude', 'LAN-36', 'test', 'Run 1181: 206 of 206 pass', { run: 1181, passed: 206 }),
  ticks(78, 'claude', 'LAN-36', 2),
  act(minutesAgo(75), 'claude', tasks.complete, {
    ref: 'LAN-36',
    notes: 'Blocks of 256 KB with a bitmap. Any block can be read without its neighbours.',
    evidence: ['b7e4019', 'run 1181: 206 of 206 pass'],
  }),
  act(minutesAgo(54), 'claude', claim, (id) => ({ ref: 'LAN-42', minutes: 20, sessionId: id('session offline') })),
  logs(50, 'claude', 'LAN-42', 'commit', '8f2c1d0 Read pages from the block store', {
    files: ['reader/pages.ts', 'reader/open.ts', 'store/block.ts', 'test/offline.ts'],
  }),
  says(45, 'claude', 'LAN-42', '@ben where do I ask for the checksum of a block? store/index.ts has two functions.'),
  logs(41, 'claude', 'LAN-42', 'commit', 'c41e77a Name the block that is missing', {
    files: ['reader/missing.ts', 'test/offline.ts'],
  }),
  proves(39, 'claude', 'LAN-42', 'Pages come from the block store, past the network layer', '8f2c1d0', 'c41e77a'),
  asks(31, 'claude', 'LAN-42', 'May I switch the checksum on before LAN-47 lands?'),
  logs(23, 'claude', 'LAN-42', 'test', 'Run 1184: 214 of 214 pass', { run: 1184, passed: 214 }),
  ticks(22, 'claude', 'LAN-42', 1),
  proves(21, 'claude', 'LAN-42', 'Reader tests pass, 214 of 214', `${LANTERN}/actions/runs/1184`),
  says(
    20,
    'claude',
    'LAN-42',
    'Kept. Opening takes 310 ms with it, 306 without. Waiting for LAN-47 before I switch it on.',
  ),
  asks(6, 'claude', 'LAN-42', 'Fonts take 3 MB of a book. Do they count towards the limit of a shelf?'),
  logs(3, 'claude', 'LAN-42', 'commit', 'd90b6a1 Fonts from the block store', {
    files: ['reader/fonts.ts', 'store/kinds.ts'],
  }),
]

const codex: Step[] = [
  act(minutesAgo(74), 'codex', claim, (id) => ({ ref: 'LAN-45', minutes: 25, sessionId: id('session resume') })),
  logs(60, 'codex', 'LAN-45', 'commit', '47ab0e3 Ask only for the blocks that are missing', {
    files: ['net/fetch.ts'],
  }),
  says(
    52,
    'codex',
    'LAN-45',
    'The proxy of build-1 cuts every connection after 60 seconds. Looking for a way to test without it.',
  ),
]

const team: Step[] = [
  act(minutesAgo(70), 'chiara', tasks.update, { ref: 'LAN-50', status: 'in_progress' }),
  says(28, 'ben', 'LAN-42', 'Please keep the checksum on read, it costs 2 ms. LAN-47 gives you the call.'),
  ticks(14, 'ada', 'LAN-42', 2),
  says(14, 'ada', 'LAN-42', 'Watched the traffic on a phone in flight mode: nothing was sent.'),
  verifies(13.8, 'ada', 'LAN-42', 2),
  act(minutesAgo(13), 'ben', tasks.update, {
    ref: 'LAN-47',
    acceptance: [
      { text: '40 damaged blocks out of 40 are found', done: true },
      { text: 'Opening a book costs at most 5 ms more', done: true },
    ],
  }),
  act(minutesAgo(12.5), 'ben', tasks.update, { ref: 'LAN-47', status: 'in_review' }),
  says(
    12,
    'ben',
    'LAN-47',
    '@ada please review. PR 322: 6 files. Run 1187: 219 of 219, and 40 damaged blocks all found. Reading costs 2 ms ' +
      'more for each book opened.',
  ),
  act(minutesAgo(11), 'reviewer', claim, { ref: 'LAN-39', minutes: 10 }),
  says(
    9,
    'reviewer',
    'LAN-47',
    'Approved. The damaged block is named in the error, as LAN-42 asks. One thing for a person: is 2 ms fine on the ' +
      'oldest phone?',
  ),
  says(6, 'chiara', 'LAN-50', '@ada the position is back before the first page is drawn. Is a new device part of it?'),
  says(1, 'reviewer', 'LAN-39', 'crypto/keys.ts: key rotation is untested. The third criterion needs it.'),
]

const end: Step[] = [
  ...callsFrom(111, 76, 'claude'),
  ...callsFrom(53.5, 1.5, 'claude'),
  ...callsFrom(73.5, 1.5, 'codex'),
  ...callsFrom(10.5, 1.5, 'reviewer'),
  isSeen(31 / 60, 'codex'),
  isSeen(20 / 60, 'claude'),
  isSeen(4 / 60, 'reviewer'),
  act(minutesAgo(0), 'ada', announcements.send, {
    type: 'info',
    title: LAST,
    message:
      'You are signed in as Ada, who leads a small team. Everything here is fictional and stays on this machine: ' +
      'change what you like.',
    link: '/manual',
  }),
]

export const todaySteps: Step[] = [...claude, ...codex, ...team, ...end]
