export const words = {
  title: 'Projects',
  none: 'No projects yet',
  noneText: 'A project holds tasks, notes, decisions and what agents remember.',
  command: 'tutti projects create "My project"',
  changed: (time: string) => `changed ${time} ago`,
} as const
