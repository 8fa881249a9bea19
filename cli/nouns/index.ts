import type { Verb } from './noun.ts'

/** What can be worked with on a server. Loaded when it is asked for, so that the rest stays instant. */
export const nouns: Record<string, { about: string; load: () => Promise<{ verbs: readonly Verb[] }> }> = {
  projects: { about: 'Work with projects', load: () => import('./projects.ts') },
  tasks: { about: 'Work with tasks', load: () => import('./tasks.ts') },
  features: { about: 'Take features through their gates', load: () => import('./features.ts') },
  notes: { about: 'Work with notes', load: () => import('./notes.ts') },
  memory: { about: 'Remember things, and find them again', load: () => import('./memory.ts') },
  decisions: { about: 'Work with decisions', load: () => import('./decisions.ts') },
  specs: { about: 'Work with specs and their versions', load: () => import('./specs.ts') },
  sessions: { about: 'Begin, save, resume and end stretches of work', load: () => import('./sessions.ts') },
  agents: { about: 'Work with agents', load: () => import('./agents.ts') },
  skills: { about: 'Work with skills', load: () => import('./skills.ts') },
  activity: { about: 'See what happened', load: () => import('./activity.ts') },
  teams: { about: 'Work with teams', load: () => import('./teams.ts') },
  tokens: { about: 'Make and end MCP tokens for agents', load: () => import('./tokens.ts') },
}
