export const words = {
  title: 'Welcome to Tutti',
  about: 'Four steps until an agent works with you. You can leave at any time and come back.',
  steps: {
    organization: 'Create a team',
    invite: 'Invite somebody',
    token: 'Connect an agent',
    project: 'Create a project',
  },
  done: 'done',
  open: 'not yet',
} as const
