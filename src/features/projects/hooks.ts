import { hook } from '../../hooks.ts'
import type { ProjectDetail } from './schema.ts'

/** Returns the numbers of a project that a feature above knows. */
export const projectStats = hook<{ projectId: string }, Partial<ProjectDetail['stats']>>('projects.stats')

/** A project goes to another team: rows that are seen through it, and only carry the team's id, follow. */
export const projectMoved = hook<{ projectId: string; organizationId: string }>('projects.moved')
