import { count } from '../../words.ts'

export const words = {
  title: 'Activity',
  nothing: 'No activity yet',
  nothingText: 'Changes by people and agents in this team appear here.',
  noMatch: 'No activity matches these filters.',
  command: 'tutti activity list',
  news: (n: number) => `Show ${n < 20 ? count(n, 'new entry', 'new entries') : 'new entries'}`,
  actor: 'By',
  kind: 'Kind',
  project: 'Project',
  who: 'Done by',
  whoNames: { user: 'people', agent: 'agents' },
  today: 'Today',
  yesterday: 'Yesterday',
  for: (name: string) => `for ${name}`,
} as const
