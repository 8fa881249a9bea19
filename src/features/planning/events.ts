import { defineEvent, number } from '../../events/catalogue.ts'
import { countOf } from '../../events/words.ts'

export const planCreated = defineEvent('plan.created', {
  kind: 'plan',
  line: 'task',
  scope: 'tasks:read',
  many: true,
  creates: true,
  description: 'A plan was created in a project: epics, stories and tasks at once',
  data: { epics: number, stories: number, tasks: number },
  words: (_, { epics, stories, tasks }) =>
    `planned ${countOf(epics, 'epic', 'epics')}, ${countOf(stories, 'story', 'stories')} and ${countOf(tasks, 'task', 'tasks')}`,
})
