/** The words of the frame and of what several pages share. A page's own words stand in its folder. */
import type { Priority, Status } from '../records/work.ts'

export const words = {
  home: 'Tutti, home',
  inbox: 'Inbox',
  projects: 'Projects',
  main: 'Main',
  switchTeam: (name: string) => `Team: ${name}, switch`,
  theme: { light: 'Theme: light', dark: 'Theme: dark', system: 'Theme: as the system' },
  help: 'Help and keys',
  account: 'Your account',
  live: 'Live',
  polling: 'Live, by asking every few seconds',
  away: 'No connection. You can read; trying again…',
  minutesLeft: (n: number) => `${n} min left`,
  tryAgain: 'Try again',
  notFound: 'There is nothing here',
  notFoundText: 'The address may be mistyped, or it was deleted, or you may not see it.',
  toProjects: 'All projects',
  clearFilters: 'Clear filters',
  filter: 'Filter',
  removeFilter: (what: string) => `Remove the filter ${what}`,
} as const

export const statusNames: Record<Status, string> = {
  backlog: 'Backlog',
  todo: 'Todo',
  in_progress: 'In progress',
  blocked: 'Blocked',
  in_review: 'In review',
  done: 'Done',
  cancelled: 'Cancelled',
}

export const priorityNames: Record<Priority, string> = {
  critical: 'Critical',
  high: 'High',
  medium: 'Medium',
  low: 'Low',
}

/** `count(3, 'task')` is "3 tasks". */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${new Intl.NumberFormat().format(n)} ${new Intl.PluralRules('en').select(n) === 'one' ? one : many}`
