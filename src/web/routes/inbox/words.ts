export const words = {
  title: 'Inbox',
  nothing: 'Nothing here',
  nothingText: 'Reviews, questions, mentions and assignments come here.',
  command: 'tutti notifications list',
} as const
