export const words = {
  tasks: 'Open tasks',
  memories: 'Remembered last',
  activity: 'Activity',
  nothing: 'Nothing yet.',
} as const
