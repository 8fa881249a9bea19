export const words = {
  title: 'Agents',
  about: 'Who works here besides people: the agents of your tokens, and those that the team described itself.',
  none: 'No agents yet',
  noneText: 'An agent appears here with its first token.',
  command: 'tutti connect claude-code',
  changed: (time: string) => `changed ${time} ago`,
} as const
