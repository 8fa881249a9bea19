import { anything, defineEvent, flag, number, text, texts } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

const ofTask = { kind: 'task', live: true, line: 'task' } as const
/** `concerns`: ids of the people and agents whose task it is or was; their open streams receive the event. */
const taskData = { key: text, title: text, status: text, version: number, concerns: texts } as const

/** Each replaced value, before and after the change. */
const replaced = { values: optional(anything) } as const

/** The lease after the change, or null. It is not part of a synced record; the latest `lastSeenAt` wins. */
const lease = { lease: optional(anything) } as const

export const taskCreated = defineEvent('task.created', { ...ofTask, description: 'A task was created', data: taskData })
export const taskUpdated = defineEvent('task.updated', {
  ...ofTask,
  description:
    'A task changed; `from`: earlier status, `values`: fields before and after, `cleared`: criteria unticked',
  data: { ...taskData, ...replaced, fields: texts, from: optional(text), cleared: optional(texts) },
})
export const taskCompleted = defineEvent('task.completed', {
  ...ofTask,
  description: 'A task is done',
  data: {
    ...taskData,
    ...replaced,
    fields: optional(texts),
    from: optional(text),
    forced: optional(flag),
    openBlockers: optional(anything),
  },
})
export const taskDeleted = defineEvent('task.deleted', {
  ...ofTask,
  deletes: true,
  description: 'A task was deleted, with its parts',
  data: { ...taskData, reason: optional(text), parts: optional(number) },
})
export const taskRestored = defineEvent('task.restored', {
  ...ofTask,
  description: 'A task was restored, with its parts',
  data: { ...taskData, parts: optional(number) },
})
export const taskClaimed = defineEvent('task.claimed', {
  ...ofTask,
  description: 'A task was claimed',
  data: { ...taskData, holder: optional(anything), ...lease },
})
/** Only for the worker itself, so it is not shown to others. */
export const taskRenewed = defineEvent('task.renewed', {
  kind: 'task',
  description: 'A worker renewed its claim of a task',
  data: { ...taskData, holder: optional(anything), ...lease },
})
export const taskReleased = defineEvent('task.released', {
  ...ofTask,
  description: 'A claim of a task was released',
  data: { ...taskData, holder: optional(anything), ...lease },
})
export const taskCommented = defineEvent('task.commented', {
  ...ofTask,
  description: 'Someone commented on a task',
  data: { ...taskData, commentId: optional(text) },
})
export const taskCommentEdited = defineEvent('task.comment_edited', {
  ...ofTask,
  description: 'Someone edited a comment on a task',
  data: { ...taskData, commentId: text },
  words: (what) => `edited a comment on ${what}`,
})
export const taskCommentDeleted = defineEvent('task.comment_deleted', {
  ...ofTask,
  description: 'Someone deleted a comment on a task',
  data: { ...taskData, commentId: text },
  words: (what) => `deleted a comment on ${what}`,
})
export const taskEvidenceAdded = defineEvent('task.evidence_added', {
  ...ofTask,
  description: 'Someone added evidence to a task without completing it',
  data: { ...taskData, evidenceId: text },
  words: (what) => `added evidence to ${what}`,
})
export const taskVerified = defineEvent('task.verified', {
  ...ofTask,
  description: 'A person checked evidence of a task',
  data: { ...taskData, evidenceId: text },
  words: (what) => `verified evidence of ${what}`,
})
export const taskFreed = defineEvent('task.freed', {
  follows: true,
  ...ofTask,
  description: 'A task is no longer blocked by another',
  data: { ...taskData, by: optional(text) },
})
export const taskRelated = defineEvent('task.related', {
  ...ofTask,
  description: 'Two tasks were related',
  data: { ...taskData, to: text, kind: nullable(text) },
  words: (what, { to }) => `related ${what} to ${to}`,
})
export const taskUnrelated = defineEvent('task.unrelated', {
  ...ofTask,
  description: 'Two tasks are no longer related',
  data: { ...taskData, to: text, kind: nullable(text) },
})
