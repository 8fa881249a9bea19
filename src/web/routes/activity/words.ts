import { count } from '../../words.ts'

export const words = {
  title: 'Activity',
  nothing: 'Nothing has happened yet',
  nothingText: 'What people and agents do in this team is listed here.',
  noMatch: 'Nothing that happened matches these filters.',
  command: 'tutti activity list',
  news: (n: number) => `Show ${n < 20 ? count(n, 'new entry', 'new entries') : 'what is new'}`,
  actor: 'By',
  kind: 'About',
  project: 'In',
  who: 'Done by',
  whoNames: { user: 'people', agent: 'agents' },
  today: 'Today',
  yesterday: 'Yesterday',
  for: (name: string) => `for ${name}`,
} as const
