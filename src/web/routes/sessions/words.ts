import { agoLabel } from '../../lib/times.ts'
export const words = {
  title: 'Sessions',
  none: 'No sessions yet',
  noneText: 'An agent starts a session, saves checkpoints in it, and resumes it later.',
  command: 'tutti sessions start --goal "Make a downloaded book open with no network"',
  noGoal: 'Session without a goal',
  changed: agoLabel,
  states: { active: 'running', paused: 'paused', ended: 'ended' },
  more: 'Show more',
} as const
