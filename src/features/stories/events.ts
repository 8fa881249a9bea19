import { define, number, text, texts } from '../../events/catalogue.ts'

const shown = { title: text, status: text, version: number } as const
const ofEpic = { kind: 'epic', many: true, line: 'task' } as const

export const epicCreated = define('epic.created', { ...ofEpic, description: 'An epic was created', data: shown })
export const epicUpdated = define('epic.updated', {
  ...ofEpic,
  description: 'An epic changed',
  data: { ...shown, fields: texts },
})
export const epicDeleted = define('epic.deleted', {
  ...ofEpic,
  deletes: true,
  description: 'An epic was deleted, with its stories and tasks',
  data: { ...shown, stories: number, tasks: number },
})
export const epicRestored = define('epic.restored', {
  ...ofEpic,
  description: 'An epic was restored, with its stories and tasks',
  data: { ...shown, stories: number, tasks: number },
})

const ofStory = { kind: 'story', many: true, line: 'task' } as const

export const storyCreated = define('story.created', { ...ofStory, description: 'A story was created', data: shown })
export const storyUpdated = define('story.updated', {
  ...ofStory,
  description: 'A story changed',
  data: { ...shown, fields: texts },
})
export const storyDeleted = define('story.deleted', {
  ...ofStory,
  deletes: true,
  description: 'A story was deleted, with its tasks',
  data: { ...shown, tasks: number },
})
export const storyRestored = define('story.restored', {
  ...ofStory,
  description: 'A story was restored, with its tasks',
  data: { ...shown, tasks: number },
})
