/** The colours of projects, in the order in which new projects take them. */
export const projectColors = ['green', 'blue', 'amber', 'violet', 'pink', 'teal', 'red', 'grey'] as const
export type ProjectColor = (typeof projectColors)[number]
