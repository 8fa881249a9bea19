import { anything, define, flag, number, text, texts } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

const ofTask = { kind: 'task', live: true, line: 'task' } as const
/** `concerns`: ids of the people and agents whose task it is or was; their open streams receive the event. */
const shown = { key: text, title: text, status: text, version: number, concerns: texts } as const

/** The lease after the change, or null. It is not part of a synced record; the latest `lastSeenAt` wins. */
const lease = { lease: optional(anything) } as const

export const taskCreated = define('task.created', { ...ofTask, description: 'A task was created', data: shown })
export const taskUpdated = define('task.updated', {
  ...ofTask,
  description: 'A task changed; `from` is its earlier status, `cleared` the acceptance criteria that were unticked',
  data: { ...shown, fields: texts, from: optional(text), cleared: optional(texts) },
})
export const taskCompleted = define('task.completed', {
  ...ofTask,
  description: 'A task is done',
  data: {
    ...shown,
    fields: optional(texts),
    from: optional(text),
    forced: optional(flag),
    openBlockers: optional(anything),
  },
})
export const taskDeleted = define('task.deleted', {
  ...ofTask,
  deletes: true,
  description: 'A task was deleted, with its parts',
  data: { ...shown, reason: optional(text), parts: optional(number) },
})
export const taskRestored = define('task.restored', {
  ...ofTask,
  description: 'A task was restored, with its parts',
  data: { ...shown, parts: optional(number) },
})
export const taskClaimed = define('task.claimed', {
  ...ofTask,
  description: 'A task was claimed',
  data: { ...shown, holder: optional(anything), ...lease },
})
/** Only for the worker itself, so it is not shown to others. */
export const taskRenewed = define('task.renewed', {
  kind: 'task',
  description: 'A worker renewed its claim of a task',
  data: { ...shown, holder: optional(anything), ...lease },
})
export const taskReleased = define('task.released', {
  ...ofTask,
  description: 'A claim of a task was released',
  data: { ...shown, holder: optional(anything), ...lease },
})
export const taskCommented = define('task.commented', {
  ...ofTask,
  description: 'Someone commented on a task',
  data: { ...shown, commentId: optional(text) },
})
export const taskCommentEdited = define('task.comment_edited', {
  ...ofTask,
  description: 'Someone edited a comment on a task',
  data: { ...shown, commentId: text },
  words: (what) => `edited a comment on ${what}`,
})
export const taskCommentDeleted = define('task.comment_deleted', {
  ...ofTask,
  description: 'Someone deleted a comment on a task',
  data: { ...shown, commentId: text },
  words: (what) => `deleted a comment on ${what}`,
})
export const taskEvidenceAdded = define('task.evidence_added', {
  ...ofTask,
  description: 'Someone added evidence to a task without completing it',
  data: { ...shown, evidenceId: text },
  words: (what) => `added evidence to ${what}`,
})
export const taskVerified = define('task.verified', {
  ...ofTask,
  description: 'A person checked evidence of a task',
  data: { ...shown, evidenceId: text },
  words: (what) => `verified evidence of ${what}`,
})
export const taskFreed = define('task.freed', {
  follows: true,
  ...ofTask,
  description: 'A task is no longer blocked by another',
  data: { ...shown, by: optional(text) },
})
export const taskRelated = define('task.related', {
  ...ofTask,
  description: 'Two tasks were related',
  data: { ...shown, to: text, kind: nullable(text) },
  words: (what, { to }) => `related ${what} to ${to}`,
})
export const taskUnrelated = define('task.unrelated', {
  ...ofTask,
  description: 'Two tasks are no longer related',
  data: { ...shown, to: text, kind: nullable(text) },
})
