import * as memory from '../../src/features/memory/service.ts'
import * as sessions from '../../src/features/sessions/service.ts'
import { act, ago, minutesAgo, type Step } from './script.ts'

const earlier: Step[] = [
  act(
    ago(28, '12:20'),
    'claude',
    sessions.create,
    { goals: ['Keep changes while there is no network'], projectId: 'lantern', taskId: 'LAN-12' },
    'session queue',
  ),
  act(ago(28, '16:40'), 'claude', sessions.end, (id) => ({
    ref: id('session queue'),
    summary: 'The queue is on disk, append only, and survives a kill at any byte. 31 new tests.',
    checkpoint: {
      nextStep: 'Replay the queue after an upgrade',
      branch: 'change-queue',
      checks: ['run 1031 is green'],
    },
  })),
  act(
    ago(18, '12:20'),
    'codex',
    sessions.create,
    { goals: ['Make Harbour fair to every library'], projectId: 'harbour', taskId: 'HAR-3' },
    'session limits',
  ),
  act(ago(18, '16:20'), 'codex', sessions.end, (id) => ({
    ref: id('session limits'),
    summary: 'A bucket per library, and a test with one greedy school and nine quiet ones.',
  })),
  act(
    ago(14, '12:10'),
    'claude',
    sessions.create,
    { goals: ['Find out why covers stay old in flight mode'], projectId: 'lantern', taskId: 'LAN-25' },
    'session covers',
  ),
  act(ago(14, '13:20'), 'claude', memory.storePrepared, (id) => ({
    scope: 'session' as const,
    scopeId: id('session covers'),
    content: 'Both editions of *Piranesi* have the same cache key. It is the key, not the server.',
    tags: ['covers'],
  })),
  act(ago(14, '16:50'), 'claude', sessions.end, (id) => ({
    ref: id('session covers'),
    summary: 'The edition is part of the key. Fixed, with a test that fails without it.',
  })),
  act(
    ago(3, '09:30'),
    'claude',
    sessions.create,
    {
      goals: ['Write down what an interrupted upgrade does', 'Measure the cost of checksums'],
      context: 'Riverbank upgrades next week, and some of their phones are switched off at night.',
      projectId: 'lantern',
    },
    'session upgrade',
  ),
  act(ago(3, '12:00'), 'claude', sessions.checkpoint, (id) => ({
    ref: id('session upgrade'),
    checkpoint: {
      nextStep: 'Kill the upgrade between the bitmap and the last block, and see that it goes on',
      files: ['store/upgrade.ts', 'test/upgrade.ts'],
      branch: 'upgrade-1.8',
      commands: ['bun test upgrade', 'bun run bench checksum'],
      checks: ['A book of 1.8 opens after the upgrade', 'No block is fetched again'],
      openQuestions: ['What if the phone has less free space than the largest book?'],
    },
  })),
]

/** Today's session pauses the one of three days ago, which can be resumed. */
const today: Step[] = [
  act(
    minutesAgo(112),
    'claude',
    sessions.create,
    {
      goals: ['Make a downloaded book open with no network'],
      context: 'The block store is decided and specified. Ada wants to show it in Riverbank tomorrow.',
      projectId: 'lantern',
      taskId: 'LAN-36',
    },
    'session offline',
  ),
  act(minutesAgo(48), 'claude', sessions.checkpoint, (id) => ({
    ref: id('session offline'),
    taskId: 'LAN-42',
    checkpoint: {
      nextStep: 'Covers and fonts from the block store',
      files: ['store/block.ts', 'reader/pages.ts', 'reader/missing.ts'],
      branch: 'offline-reading',
      commands: ['bun test offline --serial'],
      checks: ['A downloaded book opens in 400 ms, network off'],
      openQuestions: ['May the checksum be switched on before LAN-47 lands?'],
    },
  })),
  act(
    minutesAgo(76),
    'codex',
    sessions.create,
    { goals: ['Resume a broken download at the last block'], projectId: 'lantern', taskId: 'LAN-45' },
    'session resume',
  ),
]

export const sessionSteps: Step[] = [...earlier, ...today]
