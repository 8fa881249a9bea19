/** The lines of the staff, which draws work over time: each shows some of the changes. */
export const lines = ['gate', 'task', 'code', 'note'] as const
export type Line = (typeof lines)[number]
