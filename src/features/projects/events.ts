import { defineEvent, number, text, texts } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

export { projectReordered } from '../../records/positions.ts'
export { recordsChanged } from '../../records/synced-changes.ts'

/** A project decides who sees the records in it, so every change of it may change visibility. */
const ofProject = { kind: 'project', changes: 'visibility', live: true, many: true } as const
const projectData = { name: text, slug: text, version: number } as const

export const projectCreated = defineEvent('project.created', {
  ...ofProject,
  description: 'A project was created',
  data: projectData,
})
export const projectUpdated = defineEvent('project.updated', {
  ...ofProject,
  description: 'A project changed',
  data: { ...projectData, fields: texts },
})
export const projectArchived = defineEvent('project.archived', {
  ...ofProject,
  description: 'A project was archived',
  data: projectData,
})
export const projectDeleted = defineEvent('project.deleted', {
  ...ofProject,
  deletes: true,
  description: 'A project was deleted',
  data: projectData,
})
export const projectRestored = defineEvent('project.restored', {
  ...ofProject,
  description: 'A project was restored, from the archive or after deletion',
  data: { ...projectData, deletedAt: optional(text) },
})
export const projectShared = defineEvent('project.shared', {
  ...ofProject,
  description:
    'A project was shared with its team, put into a workspace, or moved; `from` is the team it was moved from',
  data: { ...projectData, visibility: optional(text), workspaceId: optional(nullable(text)), from: optional(text) },
})
export const projectUnshared = defineEvent('project.unshared', {
  ...ofProject,
  description: 'A project was unshared: its earlier visibility was restored, and it left its workspace',
  data: projectData,
})
