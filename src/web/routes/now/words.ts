import { count } from '../../words.ts'

const minutes = (n: number): string => `${n} min`

export const words = {
  title: 'Now',
  none: 'Nobody is at work',
  noneText: 'An agent that claims a task appears here: what it holds, why, its last call and its last change.',
  command: 'tutti tasks next',
  atWork: (n: number) => `${n} at work`,
  stalledCount: (n: number) => `${n} stalled`,
  stalled: 'stalled',
  stalledFor: (n: number) => `${minutes(n)} of calls, no change`,
  span: 'Span',
  spans: { '2': '2 h', '8': '8 h', '24': '1 d' },
  call: 'call',
  byAgent: 'change by an agent',
  byPerson: 'by a person',
  who: 'Who, what, why',
  clocks: 'Clocks and who waits',
  you: 'you',
  for: (name: string) => `for ${name}`,
  holdsNothing: 'Holds nothing now',
  since: (time: string, why: string | null) => (why ? `since ${time}, ${why}` : `since ${time}`),
  lastCall: (time: string) => `call ${time} ago`,
  lastChange: (time: string) => `change ${time} ago`,
  noChange: 'no change',
  leaseLeft: (n: number) => `lease ${minutes(n)} left`,
  waits: (keys: readonly string[]) =>
    keys.length > 2
      ? `${count(keys.length, 'task')} wait for this one`
      : `${keys.join(', ')} ${keys.length === 1 ? 'waits' : 'wait'} for it`,
  nobodyWaits: 'nobody waits',
  takeOver: 'Take over',
  giveBack: 'Give back',
  ask: 'Ask it',
  askTitle: (key: string) => `Comment on ${key}`,
  comment: 'Comment',
  send: 'Send',
  cancel: 'Cancel',
  ready: 'Ready, held by nobody',
  nextGets: (key: string) => `the next agent that asks gets ${key}`,
  lines: 'Lines, from the top: gate · task · code · note or memory.',
  dashed: 'A dashed box is lease that is left.',
  keys: { lane: 'lane', open: 'open task', take: 'take over', back: 'give back', comment: 'comment' },
  nextLane: 'Next lane',
  laneBefore: 'Lane before',
  staff: (n: number, name: string) => `${count(n, 'change')} by ${name}`,
  staffHeld: (n: number, left: number) => `${count(n, 'change')}, lease ${count(left, 'minute')} left`,
  staffStalled: (n: number, quiet: number, calls: number) =>
    `${count(n, 'change')}, then none for ${count(quiet, 'minute')} while ${count(calls, 'call')} came`,
} as const
