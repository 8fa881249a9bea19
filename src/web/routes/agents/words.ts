export const words = {
  title: 'Agents',
  about: 'Agents that use your tokens, and agents that the team created.',
  status: { active: 'Active', archived: 'Archived' },
  view: 'Which agents',
  none: 'No agents yet',
  noneText: 'An agent appears here with its first token.',
  noneArchived: 'No agent is archived.',
  toTokens: 'New token',
  command: 'tutti connect claude-code',
  atWork: (task: string) => `works on ${task}`,
  here: 'connected',
  more: 'Show more',
} as const
