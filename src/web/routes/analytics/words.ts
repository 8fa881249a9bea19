import { count } from '../../words.ts'

export const words = {
  title: 'Analytics',
  days: (n: number) => `${n} days`,
  span: 'Period',
  changes: 'Changes by people and by agents',
  completed: 'Tasks completed',
  figures: {
    members: 'Active members',
    projects: 'Active projects',
    open: 'Open tasks',
    done: 'Done tasks',
    notes: 'Notes',
  },
  of: (part: number, whole: number) => `${part} of ${whole}`,
  people: 'people',
  agents: 'agents',
  dayOf: (day: string, people: number, agents: number) =>
    `${day}: ${count(people, 'change')} by people, ${count(agents, 'change')} by agents`,
  doneOn: (day: string, n: number) => `${day}: ${count(n, 'task')} completed`,
  sum: (people: number, agents: number) =>
    `${count(people, 'change')} by people, ${count(agents, 'change')} by agents.`,
  contributors: 'Top contributors, with their agents',
  changed: (n: number) => count(n, 'change'),
  nobody: 'No one changed anything in this period.',
} as const
