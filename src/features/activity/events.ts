import { anything, define, text } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

/** Stored with the caller's own word as its type (`deploy`). */
export const activityLogged = define('activity.logged', {
  kind: 'activity',
  description: 'An activity was logged by hand; its type is a word of the author',
  data: { description: text, taskId: optional(text), sessionId: optional(text), metadata: optional(anything) },
})
