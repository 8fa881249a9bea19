import { define, number } from '../../events/catalogue.ts'
import { count } from '../../events/words.ts'

export const planCreated = define('plan.created', {
  kind: 'plan',
  line: 'task',
  scope: 'tasks:read',
  many: true,
  creates: true,
  description: 'A plan was created in a project: epics, stories and tasks at once',
  data: { epics: number, stories: number, tasks: number },
  words: (_, { epics, stories, tasks }) =>
    `planned ${count(epics, 'epic', 'epics')}, ${count(stories, 'story', 'stories')} and ${count(tasks, 'task', 'tasks')}`,
})
