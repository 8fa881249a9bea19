import { hook } from '../../hooks.ts'
import type { Project, ProjectStats, ProjectWork } from './schema.ts'

/** Returns the project statistics that an upper feature computes. */
export const projectStats = hook<{ projectId: string }, Partial<ProjectStats>>('projects.stats')

/** Returns the work statistics that an upper feature computes, by project id. A project without work may be missing. */
export const projectWork = hook<{ projects: readonly Project[] }, Map<string, Partial<ProjectWork>>>('projects.work')

/** A project moves to another team: handlers update the team's id in rows whose visibility depends on the project. */
export const projectMoved = hook<{ projectId: string; organizationId: string }>('projects.moved')

/** Called before all records of a project change: handlers lock their rows in the order that other writers use. */
export const projectLocked = hook<{ projectId: string }>('projects.locked')
