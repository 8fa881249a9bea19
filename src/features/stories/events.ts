import { defineEvent, number, text, texts } from '../../events/catalogue.ts'

const storyData = { title: text, status: text, version: number } as const
const ofEpic = { kind: 'epic', many: true, line: 'task' } as const

export const epicCreated = defineEvent('epic.created', {
  ...ofEpic,
  description: 'An epic was created',
  data: storyData,
})
export const epicUpdated = defineEvent('epic.updated', {
  ...ofEpic,
  description: 'An epic changed',
  data: { ...storyData, fields: texts },
})
export const epicDeleted = defineEvent('epic.deleted', {
  ...ofEpic,
  deletes: true,
  description: 'An epic was deleted, with its stories and tasks',
  data: { ...storyData, stories: number, tasks: number },
})
export const epicRestored = defineEvent('epic.restored', {
  ...ofEpic,
  description: 'An epic was restored, with its stories and tasks',
  data: { ...storyData, stories: number, tasks: number },
})

const ofStory = { kind: 'story', many: true, line: 'task' } as const

export const storyCreated = defineEvent('story.created', {
  ...ofStory,
  description: 'A story was created',
  data: storyData,
})
export const storyUpdated = defineEvent('story.updated', {
  ...ofStory,
  description: 'A story changed',
  data: { ...storyData, fields: texts },
})
export const storyDeleted = defineEvent('story.deleted', {
  ...ofStory,
  deletes: true,
  description: 'A story was deleted, with its tasks',
  data: { ...storyData, tasks: number },
})
export const storyRestored = defineEvent('story.restored', {
  ...ofStory,
  description: 'A story was restored, with its tasks',
  data: { ...storyData, tasks: number },
})
