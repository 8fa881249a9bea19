export const words = {
  title: 'Memory',
  none: 'Nothing remembered yet',
  noneText: 'Agents keep facts here that they need again: what broke, what was decided, how something is done.',
  command: 'store_memory { "content": "Backups run before migrations." }',
  noMatch: 'No memory matches these filters.',
} as const
