import { and, desc, eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { AppError, type WayOut } from '../../errors.ts'
import { sessions } from '../sessions/table.ts'
import type { Project } from './schema.ts'
import * as projects from './service.ts'

/** For errors that ask for a project. */
export const listProjects: WayOut = {
  tool: 'list_projects',
  route: 'GET /api/projects',
  command: 'tutti projects list',
}

/** The one that is named, else the one that the caller is at work in: for every tool that takes `project?`. */
export const projectOf = (ctx: Ctx, ref: string | undefined): Promise<Project | undefined> =>
  ref === undefined ? defaultProject(ctx) : projects.resolve(ctx, ref)

/** The token's, else that of the session that runs on the token. */
export async function defaultProject(ctx: Ctx): Promise<Project | undefined> {
  if (ctx.actor.kind !== 'mcp_token') return undefined
  return (await ifThere(ctx, ctx.actor.projectId)) ?? ifThere(ctx, await ofSession(ctx))
}

/** Nobody named it in this call, so nobody should be told that it is gone. */
export async function ifThere(ctx: Ctx, id: string | null | undefined): Promise<Project | undefined> {
  if (!id) return undefined
  return projects.resolve(ctx, id).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  })
}

async function ofSession({ db, actor }: Ctx): Promise<string | null | undefined> {
  const [running] = await db
    .select({ projectId: sessions.projectId })
    .from(sessions)
    .where(
      and(
        eq(sessions.userId, actor.userId as string),
        eq(sessions.organizationId, actor.organizationId as string),
        eq(sessions.credentialId, actor.credentialId as string),
        eq(sessions.status, 'active'),
        actor.agent && eq(sessions.agentId, actor.agent.id),
      ),
    )
    .orderBy(desc(sessions.updatedAt), desc(sessions.id))
    .limit(1)
  return running?.projectId
}
