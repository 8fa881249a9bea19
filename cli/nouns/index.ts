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
  projects: { about: 'Manage projects', load: () => import('./work/projects.ts') },
  tasks: { about: 'Manage tasks', load: () => import('./work/tasks.ts') },
  epics: { about: 'Manage epics', load: () => import('./work/epics.ts') },
  stories: { about: 'Manage stories', load: () => import('./work/stories.ts') },
  features: { about: 'Manage features and their gates', load: () => import('./work/features.ts') },
  notes: { about: 'Manage notes', load: () => import('./knowledge/notes.ts') },
  memory: { about: 'Store and search memories', load: () => import('./knowledge/memory.ts') },
  decisions: { about: 'Manage decisions', load: () => import('./knowledge/decisions.ts') },
  specs: { about: 'Manage specs and their versions', load: () => import('./knowledge/specs.ts') },
  sessions: { about: 'Start, save, resume and end work sessions', load: () => import('./sessions.ts') },
  agents: { about: 'Manage agents', load: () => import('./agents.ts') },
  skills: { about: 'Manage skills', load: () => import('./knowledge/skills.ts') },
  activity: { about: 'Show and log activity', load: () => import('./activity.ts') },
  notifications: { about: 'Read your notifications', load: () => import('./account/notifications.ts') },
  issues: { about: 'Report problems to the administrators of this server', load: () => import('./account/issues.ts') },
  repositories: { about: 'Connect repositories from code hosts', load: () => import('./repositories.ts') },
  trash: { about: 'List and restore deleted records', load: () => import('./trash.ts') },
  workspaces: {
    about: 'Manage workspaces, where teams share projects',
    load: () => import('./account/workspaces.ts'),
  },
  teams: { about: 'Manage teams', load: () => import('./account/teams.ts') },
  tokens: { about: 'Manage MCP tokens for agents', load: () => import('./account/tokens.ts') },
  oauth: {
    about: 'Manage the programs that may use your account',
    load: () => import('./account/oauth.ts'),
    extend: () => import('../oauth-commands.ts'),
  },
  integrations: {
    about: 'Connect your accounts at code hosts and chat services',
    load: () => import('./account/integrations.ts'),
  },
  webhooks: { about: 'Send your notifications to a webhook', load: () => import('./account/webhooks.ts') },
}
