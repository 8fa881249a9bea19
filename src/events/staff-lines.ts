/** The lines of the staff, which draws work over time: each shows some of the changes. */
export const staffLines = ['gate', 'task', 'code', 'note'] as const
export type StaffLine = (typeof staffLines)[number]
