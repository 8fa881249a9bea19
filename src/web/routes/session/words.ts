export const words = {
  noGoal: 'Session without a goal',
  checkpoint: 'Checkpoint',
  next: 'Next step',
  context: 'Context',
  resume: 'Resume it from the last checkpoint',
  command: (id: string) => `tutti sessions resume ${id.slice(0, 8)}`,
} as const
