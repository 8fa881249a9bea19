import { defineEvent, number, text } from '../../events/catalogue.ts'

/** Only for the person who made the change. */
export const changeProgressed = defineEvent('change.progressed', {
  kind: 'change',
  feed: 'access',
  scope: 'tasks:read',
  description: 'A change of many tasks, or its undo, got further or ended',
  data: { state: text, total: number, done: number, refused: number, restored: number },
})
