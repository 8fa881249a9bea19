import { count } from '../../words.ts'
import type { PlanKind } from './model.ts'

const names: Record<PlanKind, string> = { epic: 'epic', story: 'story', task: 'task' }

export const words = {
  title: (project: string) => `Plan of ${project}`,
  plan: 'Plan',
  none: 'No plan yet',
  noneText:
    'A plan consists of epics, stories and tasks. Write the first epic, paste an outline, or ask an agent to plan.',
  say: 'Prompt for an agent that has a token',
  sayText: (key: string) => `Plan the project ${key} in Tutti: two epics, small stories and tasks, dependencies set.`,
  terminal: 'Or from a terminal',
  command: (key: string) => `tutti epics create "First epic" --project ${key}`,
  newEpic: 'New epic',
  paste: 'Paste an outline',
  add: (kind: PlanKind, to: string) => `Add a ${names[kind]} to ${to}`,
  newTitle: (kind: PlanKind) => `Title of the new ${names[kind]}`,
  rename: 'New title',
  more: (title: string) => `Actions for ${title}`,
  renameIt: 'Rename',
  removeIt: 'Delete',
  progress: (done: number, all: number) => `${done} of ${all}`,
  done: (done: number, all: number) => `${done} of ${count(all, 'task')} done`,
  kindOf: (kind: 'epic' | 'story', priority: string) => `${names[kind]}, ${priority.toLowerCase()} priority`,
  whole: 'Whole plan',
  points: (n: number) => count(n, 'point'),
  left: (n: number) => `This plan has ${count(n, 'more entry', 'more entries')}.`,
  leftAll: 'All tasks',
  moved: (title: string) => `Moved ${title}`,
  movedBack: (title: string) => `${title} moved back`,
  removed: (title: string) => `Deleted ${title}`,
  restored: (title: string) => `Restored ${title}`,
  keys: { move: 'move', rename: 'rename', open: 'open' },
  outline: {
    title: 'Paste an outline',
    label: 'Outline',
    hint: 'Epics at the margin, stories indented, tasks indented further; or Markdown headings and lists.',
    placeholder: 'Offline first\n  Read without a network\n    Store blocks\n    Resume a download',
    preview: 'This creates',
    size: (epics: number, stories: number, tasks: number) =>
      `${count(epics, 'epic')}, ${count(stories, 'story', 'stories')} and ${count(tasks, 'task')}.`,
    apply: 'Create it',
  },
} as const
