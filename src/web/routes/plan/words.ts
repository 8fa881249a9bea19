export const words = {
  title: (project: string) => `Plan of ${project}`,
  none: 'Nothing is planned yet',
  noneText: 'A plan is epics, their stories and the tasks of each.',
} as const
