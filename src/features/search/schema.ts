export const kinds = ['memory', 'note', 'decision', 'spec', 'task', 'session', 'feature', 'skill', 'agent', 'project'] as const
export type Kind = (typeof kinds)[number]
