import type { Trashed } from '../../../features/trash/schema.ts'

export const words = {
  title: 'Trash',
  none: 'Nothing to restore',
  noneText: 'What you delete stays here for 24 hours. Admins of the team find what anybody deleted in 30 days.',
  terminal: 'From a terminal',
  command: 'tutti trash list',
  noMatch: 'Nothing of this kind was deleted.',
  kind: 'Kind',
  all: 'All',
  kinds: {
    project: 'Projects',
    epic: 'Epics',
    story: 'Stories',
    task: 'Tasks',
    feature: 'Features',
    note: 'Notes',
    skill: 'Skills',
    agent: 'Agents',
  } satisfies Record<Trashed['kind'], string>,
  restore: 'Restore',
  restoreOne: (title: string) => `Restore ${title}`,
  restored: (title: string) => `Restored ${title}`,
  open: 'Open',
  deleted: (name: string, time: string) => `deleted by ${name} ${time} ago`,
} as const
