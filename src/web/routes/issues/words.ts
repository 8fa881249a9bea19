export const words = {
  title: 'Your reports',
  nothing: 'No reports',
  nothingText: 'A problem that you report goes to those who run this server. Their answer comes here.',
  status: { open: 'open', in_review: 'in review', closed: 'closed' },
} as const
