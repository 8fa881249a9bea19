import { anything, defineEvent, text } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

export const activityLogged = defineEvent('activity.logged', {
  kind: 'activity',
  scope: 'activities:read',
  byHand: true,
  description: 'An activity was logged by hand; its type is a word of the author',
  data: { description: text, taskId: optional(text), sessionId: optional(text), metadata: optional(anything) },
})
