import type { Ctx } from '../../action.ts'
import { AppError, invalid, type WayOut } from '../../errors.ts'
import { isId } from '../../records/reference.ts'
import * as projects from './rows.ts'
import type { Project } from './schema.ts'
import { sessionOf, type WorkSession } from './work-session.ts'

/** How to find a project, for errors that ask for one. */
export const listProjects: WayOut = {
  tool: 'list_projects',
  route: 'GET /api/projects',
  command: 'tutti projects list',
}
const createProject: WayOut = {
  tool: 'create_project',
  route: 'POST /api/projects',
  command: 'tutti projects create',
}

/**
 * Returns the named project; by default the one that the caller works in. Used by every tool that takes `project?`.
 * `session`: the work session that the call names.
 */
export async function projectOf(ctx: Ctx, ref: string | undefined, session?: string): Promise<Project | undefined> {
  if (ref !== undefined) return projects.findProject(ctx, ref)
  const found = await defaultProject(ctx, session)
  if (!found && (await mayWorkInProject(ctx))) throw await projectRequired(ctx)
  return found
}

/** Like `projectOf`, for records that must belong to a project. */
export async function requireProject(ctx: Ctx, ref: string | undefined): Promise<Project> {
  const project = await projectOf(ctx, ref)
  if (!project) throw await projectRequired(ctx)
  return project
}

/**
 * Returns true if the caller may be a window of its token that works in a project. Without a project, its records would
 * go to the team, where that window does not look for them.
 */
const mayWorkInProject = async (ctx: Ctx): Promise<boolean> =>
  ctx.actor.kind === 'mcp_token' && ctx.connection === undefined
    ? Boolean((await sessionOf(ctx, { active: 'worker' }))?.projectId)
    : false

const MOST_KEYS = 12

/** Returns the error for a call that must name a project. It lists the keys of the caller's projects. */
async function projectRequired(ctx: Ctx): Promise<AppError> {
  const keys = (await projects.listRecentProjects(ctx, MOST_KEYS + 1)).map(({ key }) => key)
  const some = keys.slice(0, MOST_KEYS).join(', ')
  const listed = keys.length > MOST_KEYS ? `${some} and more` : some
  const message = listed ? `Specify the project, for example by its key: ${listed}.` : 'Create a project first.'
  const next = keys.length > MOST_KEYS ? [listProjects] : keys.length > 0 ? [] : [createProject]
  return invalid('/project', message, 'required', next)
}

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
  id === undefined || (isId(id) && !mustExist) ? id : (await projects.findProject(ctx, id)).id

/** Like `projectFilter`; also returns the project if it is visible, for its permissions. */
export async function projectFilterWithProject(
  ctx: Ctx,
  { projectId: id, mustExist }: ProjectFilter,
): Promise<{ id?: string; project?: Project }> {
  if (id === undefined) return {}
  if (isId(id) && !mustExist) return { id, project: await findProjectIfVisible(ctx, id) }
  const project = await projects.findProject(ctx, id)
  return { id: project.id, project }
}

/**
 * Returns the project of the worker's session, or else that of the token. Windows of one token without connections
 * cannot be told apart, so there the session's project counts only for a call that names the session.
 */
export async function defaultProject(ctx: Ctx, session?: string): Promise<Project | undefined> {
  if (ctx.actor.kind !== 'mcp_token') return undefined
  return (
    (await findProjectIfVisible(ctx, (await workerSession(ctx, session))?.projectId)) ??
    findProjectIfVisible(ctx, ctx.actor.projectId)
  )
}

/** Returns the session that the call names, if its own worker names it; else the active one of its connection. */
async function workerSession(ctx: Ctx, ref: string | undefined): Promise<WorkSession | undefined> {
  if (ref === undefined) return ctx.connection === undefined ? undefined : sessionOf(ctx, { active: 'worker' })
  const named = await sessionOf(ctx, { ref, team: 'any' })
  return named?.credentialId === ctx.actor.credentialId ? named : undefined
}

/** Returns undefined instead of throwing not_found, because the caller did not name the project in this call. */
export async function findProjectIfVisible(ctx: Ctx, id: string | null | undefined): Promise<Project | undefined> {
  if (!id) return undefined
  return projects.findProject(ctx, id).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  })
}
