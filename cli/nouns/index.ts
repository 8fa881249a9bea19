import type { Command } from 'commander'
import type { Verb } from './noun.ts'

interface Noun {
  about: string
  load: () => Promise<{ verbs: readonly Verb[] }>
  /** Adds commands that are not verbs of the noun. */
  extend?: () => Promise<{ extend(noun: Command): void }>
}

/** The nouns of the command line. Each is loaded only when it is used, which keeps every command fast. */
export const nouns: Record<string, Noun> = {
  projects: { about: 'Manage projects', load: () => import('./projects.ts') },
  tasks: { about: 'Manage tasks', load: () => import('./tasks.ts') },
  epics: { about: 'Manage epics', load: () => import('./epics.ts') },
  stories: { about: 'Manage stories', load: () => import('./stories.ts') },
  features: { about: 'Manage features and their gates', load: () => import('./features.ts') },
  notes: { about: 'Manage notes', load: () => import('./notes.ts') },
  memory: { about: 'Store and search memories', load: () => import('./memory.ts') },
  decisions: { about: 'Manage decisions', load: () => import('./decisions.ts') },
  specs: { about: 'Manage specs and their versions', load: () => import('./specs.ts') },
  sessions: { about: 'Start, save, resume and end work sessions', load: () => import('./sessions.ts') },
  agents: { about: 'Manage agents', load: () => import('./agents.ts') },
  skills: { about: 'Manage skills', load: () => import('./skills.ts') },
  activity: { about: 'Show and log activity', load: () => import('./activity.ts') },
  notifications: { about: 'Read your notifications', load: () => import('./notifications.ts') },
  issues: { about: 'Report problems to the administrators of this server', load: () => import('./issues.ts') },
  repositories: { about: 'Connect repositories from code hosts', load: () => import('./repositories.ts') },
  trash: { about: 'List and restore deleted records', load: () => import('./trash.ts') },
  workspaces: {
    about: 'Manage workspaces, where teams share projects',
    load: () => import('./workspaces.ts'),
  },
  teams: { about: 'Manage teams', load: () => import('./teams.ts') },
  tokens: { about: 'Manage MCP tokens for agents', load: () => import('./tokens.ts') },
  oauth: {
    about: 'Manage the programs that you authorized',
    load: () => import('./oauth.ts'),
    extend: () => import('../oauth-commands.ts'),
  },
  integrations: {
    about: 'Connect your accounts at code hosts and chat services',
    load: () => import('./integrations.ts'),
  },
  webhooks: { about: 'Send your notifications to a webhook', load: () => import('./webhooks.ts') },
}
