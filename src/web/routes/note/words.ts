export const words = {
  backlinks: 'Linked from',
} as const
