export const words = {
  title: (project: string) => `${project} features`,
  find: 'Find in these features',
  none: 'No features yet',
  noneText: 'A feature passes gates: code, tests, documents and a review. Each gate asks for evidence.',
  command: (project: string) => `tutti features create -p ${project} "Offline reading"`,
  noMatch: 'No feature matches these filters.',
} as const
