import { define, number, text, texts } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

export { recordsChanged } from '../../records/changed.ts'
export { projectReordered } from '../../records/positions.ts'

/** A project decides who sees the records in it, so every change of it may change visibility. */
const ofProject = { kind: 'project', changes: 'visibility', live: true, many: true } as const
const shown = { name: text, slug: text, version: number } as const

export const projectCreated = define('project.created', {
  ...ofProject,
  description: 'A project was created',
  data: shown,
})
export const projectUpdated = define('project.updated', {
  ...ofProject,
  description: 'A project changed',
  data: { ...shown, fields: texts },
})
export const projectArchived = define('project.archived', {
  ...ofProject,
  description: 'A project was archived',
  data: shown,
})
export const projectDeleted = define('project.deleted', {
  ...ofProject,
  deletes: true,
  description: 'A project was deleted',
  data: shown,
})
export const projectRestored = define('project.restored', {
  ...ofProject,
  description: 'A project was restored, from the archive or after deletion',
  data: { ...shown, deletedAt: optional(text) },
})
export const projectShared = define('project.shared', {
  ...ofProject,
  description:
    'A project was shared with its team, put into a workspace, or moved; `from` is the team it was moved from',
  data: { ...shown, visibility: optional(text), workspaceId: optional(nullable(text)), from: optional(text) },
})
export const projectUnshared = define('project.unshared', {
  ...ofProject,
  description: 'A project was unshared: its earlier visibility was restored, and it left its workspace',
  data: shown,
})
