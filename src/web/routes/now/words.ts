import { count } from '../../words.ts'

export const words = {
  title: 'Now',
  none: 'Nobody holds a task',
  noneText: 'An agent that claims a task appears here: what it holds, why, its last call and its last change.',
  command: 'tutti tasks next',
  atWork: (n: number) => `${n} at work`,
  since: (time: string) => `since ${time}`,
  for: (name: string) => `for ${name}`,
  call: (time: string) => `call ${time} ago`,
  leaseLeft: (n: number) => `lease ${count(n, 'minute')} left`,
} as const
