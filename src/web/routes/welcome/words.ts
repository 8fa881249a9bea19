export const words = {
  title: 'Welcome to Tutti',
  about: 'Four steps until an agent works with you. Skip what you do not need; you can come back at any time.',
  steps: {
    organization: 'Create a team',
    invite: 'Invite people',
    token: 'Connect an agent',
    project: 'Create a project',
  },
  done: 'done',
  skip: 'Skip',
  next: 'Next',
  open: 'Open',
  team: {
    about: 'A team shares its projects, notes and agents. You also have a space of your own.',
    name: 'Name of the team',
    create: 'Create team',
  },
  invite: { about: 'Whoever accepts joins this team. You can do this later, on the page of the team.' },
  token: { about: 'A token lets your agent read and write here, in your name.', next: 'Next' },
  project: {
    about: 'A project holds tasks, notes, decisions and what agents remember.',
    name: 'Name of the project',
    create: 'Create project',
    made: (name: string) =>
      `${name} is ready. Tell your agent what you want; it writes the plan, and you see it appear.`,
    prompt: (key: string) => `Use the Tutti tools. Plan the following in project ${key} with create_plan: `,
    promptName: 'the prompt',
    board: 'Open the board',
  },
  allDone: 'All four steps are done.',
  home: 'Go to the home page',
} as const
