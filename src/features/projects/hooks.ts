import { hook } from '../../hooks.ts'
import type { Project, ProjectStats, ProjectWork } from './schema.ts'

/** Returns those of a project's statistics that an upper feature knows. */
export const projectStats = hook<{ projectId: string }, Partial<ProjectStats>>('projects.stats')

/** Returns what an upper feature knows of the work in these projects, by id. A project without work may be missing. */
export const projectWork = hook<{ projects: readonly Project[] }, Map<string, Partial<ProjectWork>>>('projects.work')

/** A project moves to another team: handlers update the team's id in rows whose visibility depends on the project. */
export const projectMoved = hook<{ projectId: string; organizationId: string }>('projects.moved')

/** Everything in a project is about to be changed: handlers lock rows that others lock in a certain order. */
export const projectLocked = hook<{ projectId: string }>('projects.locked')
