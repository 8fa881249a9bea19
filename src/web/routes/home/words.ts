export const words = {
  title: 'Home',
  mine: 'Your work',
  nothingMine: 'Nothing is assigned to you.',
} as const
