import { hook } from '../../hooks.ts'
import type { ProjectDetail } from './schema.ts'

/** Returns those of a project's statistics that an upper feature knows. */
export const projectStats = hook<{ projectId: string }, Partial<ProjectDetail['stats']>>('projects.stats')

/** A project moves to another team: handlers update the team's id in rows whose visibility depends on the project. */
export const projectMoved = hook<{ projectId: string; organizationId: string }>('projects.moved')

/** Everything in a project is about to be changed: handlers lock rows that others lock in a certain order. */
export const projectLocked = hook<{ projectId: string }>('projects.locked')
