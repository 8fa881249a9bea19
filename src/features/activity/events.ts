import { anything, define, text } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

/** Stored with the word of whoever logs it as its type (`deploy`). */
export const activityLogged = define('activity.logged', {
  kind: 'activity',
  says: 'Somebody logged what no record shows; its type is a word of theirs',
  data: { description: text, taskId: optional(text), sessionId: optional(text), metadata: optional(anything) },
})
