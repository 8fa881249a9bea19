export const words = {
  title: 'Activity',
  nothing: 'Nothing has happened yet',
  nothingText: 'What people and agents do in this team is listed here.',
  command: 'tutti activities list',
  more: 'Show more',
} as const
