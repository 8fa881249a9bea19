export const words = {
  title: 'Tokens',
  about: 'A token connects one agent to one team. It can do what you can, within its scopes.',
  inUse: 'In use',
  columns: {
    name: 'Name',
    agent: 'Agent',
    scopes: 'Scopes',
    lastUse: 'Last use',
    until: 'Until',
  },
  never: 'never',
  ago: (time: string) => `${time} ago`,
  none: 'No tokens yet',
  noneText: 'A token lets an agent read and write here, in your name. Its secret is shown once.',
  command: 'tutti connect claude-code',
} as const
