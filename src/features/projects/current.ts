import type { Ctx } from '../../action.ts'
import { AppError, type WayOut } from '../../errors.ts'
import { isId } from '../../records/rows.ts'
import * as projects from './rows.ts'
import type { Project } from './schema.ts'
import { sessionOf } from './work-session.ts'

/** How to find a project, for errors that ask for one. */
export const listProjects: WayOut = {
  tool: 'list_projects',
  route: 'GET /api/projects',
  command: 'tutti projects list',
}

/** Returns the named project; default: the one that the caller works in. For every tool that takes `project?`. */
export const projectOf = (ctx: Ctx, ref: string | undefined): Promise<Project | undefined> =>
  ref === undefined ? defaultProject(ctx) : projects.find(ctx, ref)

/** How a list is limited to one project. */
export interface ProjectFilter {
  /** Id, slug or key. */
  projectId?: string
  /** Throws not_found for an id that is not visible, as tools do. */
  mustExist?: boolean
}

/**
 * Returns the id of the project to filter by. REST does not look an id up: the list's own rule hides what is not
 * visible. Tools do, since an agent learns more from not_found than from an empty list.
 */
export const projectFilter = async (
  ctx: Ctx,
  { projectId: id, mustExist }: ProjectFilter,
): Promise<string | undefined> =>
  id === undefined || (isId(id) && !mustExist) ? id : (await projects.find(ctx, id)).id

/** Like `projectFilter`; also returns the project if it is visible, for `can`. */
export async function filteredProject(
  ctx: Ctx,
  { projectId: id, mustExist }: ProjectFilter,
): Promise<{ id?: string; project?: Project }> {
  if (id === undefined) return {}
  if (isId(id) && !mustExist) return { id, project: await ifThere(ctx, id) }
  const project = await projects.find(ctx, id)
  return { id: project.id, project }
}

/** Returns the token's project, else the project of the token's active session. */
export async function defaultProject(ctx: Ctx): Promise<Project | undefined> {
  if (ctx.actor.kind !== 'mcp_token') return undefined
  return (
    (await ifThere(ctx, ctx.actor.projectId)) ?? ifThere(ctx, (await sessionOf(ctx, { active: 'token' }))?.projectId)
  )
}

/** Returns undefined instead of throwing not_found, because the caller did not name the project in this call. */
export async function ifThere(ctx: Ctx, id: string | null | undefined): Promise<Project | undefined> {
  if (!id) return undefined
  return projects.find(ctx, id).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  })
}
