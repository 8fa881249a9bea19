export const words = {
  open: 'Open',
  done: 'Done',
  notes: 'Notes',
  of: (n: number) => `of ${n}`,
  tasks: 'Tasks',
  plan: 'Plan',
} as const
