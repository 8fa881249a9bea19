import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { type Refusal, throwIfRefused } from '../../auth/policy.ts'
import { invalid } from '../../errors.ts'
import { agents } from '../agents/table.ts'
import { findAgent } from '../agents/users-and-agents.ts'
import { listProjects, projectOf } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { sessionOf, type WorkSession } from '../projects/work-session.ts'
import type { Memory } from './schema.ts'

/** What a memory is about: its scope, with the organization and project. */
export interface MemoryTarget {
  scope: Memory['scope']
  scopeId: string
  organizationId: string
  projectId: string | null
}

interface ScopeInput {
  scope?: Memory['scope']
  scopeId?: string
}

interface NamedTarget extends ScopeInput {
  project?: string
  agent?: string
  session?: string
}

/** Replaces `project`, `agent` or `session` in the input by `scope` and `scopeId`. */
export function withScope<T extends NamedTarget>({ project, agent, session, ...rest }: T) {
  const named = Object.entries({ project, agent, session }).flatMap(([scope, ref]) =>
    ref === undefined ? [] : [{ scope: scope as Memory['scope'], scopeId: ref }],
  )
  const [first, second] = named
  if (!first) return rest
  const also = second?.scope ?? (['scope', 'scopeId'] as const).find((name) => rest[name] !== undefined)
  if (also) throw invalid(`/${also}`, `A memory is about one thing. Send ${first.scope} or ${also}, not both.`, 'twice')
  return { ...rest, ...first }
}

/**
 * Adds the shared fields of several memories to one of them. A memory with another scope does not get the shared
 * `scopeId`, which belongs to the shared scope.
 */
export function withShared<S extends ScopeInput, T extends ScopeInput>(shared: S, own: T) {
  const { scopeId, ...rest } = shared
  const isOther = own.scope !== undefined && own.scope !== (shared.scope ?? 'project')
  return { ...rest, ...(!isOther && scopeId !== undefined && { scopeId }), ...own }
}

export async function resolveTarget(
  ctx: Ctx,
  scope: Memory['scope'] | undefined,
  ref: string | undefined,
): Promise<MemoryTarget> {
  if (scope === undefined && ref === undefined) return usualTarget(ctx)
  if (scope === undefined || scope === 'project') return projectTarget(await projectOf(ctx, ref))
  if (scope === 'agent')
    return agentTarget(ctx, ref ? await findAgent(ctx, currentOrganization(ctx.actor), ref, 'whole') : ctx.actor.agent)
  return sessionTarget(ctx, await sessionOf(ctx, ref === undefined ? { active: 'agent' } : { ref }))
}

/** Returns the default of an agent: its `memoryScope`, if there is such a project or session. */
async function usualTarget(ctx: Ctx): Promise<MemoryTarget> {
  const { agent } = ctx.actor
  if (!agent) return projectTarget(await projectOf(ctx, undefined))
  const [settings] = await ctx.db
    .select({ memoryScope: agents.memoryScope })
    .from(agents)
    .where(eq(agents.id, agent.id))
  if (settings?.memoryScope === 'agent') return agentTarget(ctx, agent)
  const session = settings?.memoryScope === 'session' ? await sessionOf(ctx, { active: 'agent' }) : undefined
  if (session) return sessionTarget(ctx, session)
  const project = await projectOf(ctx, undefined)
  return project ? projectTarget(project) : agentTarget(ctx, agent)
}

function projectTarget(project: { id: string; organizationId: string } | undefined): MemoryTarget {
  if (!project)
    throw invalid(
      '/scopeId',
      'scopeId is required: the id, slug or key of the project that the memory is about.',
      'required',
      [listProjects],
    )
  return { scope: 'project', scopeId: project.id, organizationId: project.organizationId, projectId: project.id }
}

function agentTarget(ctx: Ctx, agent: { id: string } | null | undefined): MemoryTarget {
  if (!agent)
    throw invalid(
      '/scopeId',
      'scopeId is required: the id or slug of the agent that the memory is about.',
      'required',
      [{ tool: 'list_agents', route: 'GET /api/agents', command: 'tutti agents list' }],
    )
  return { scope: 'agent', scopeId: agent.id, organizationId: currentOrganization(ctx.actor), projectId: null }
}

/** The project of a session decides who sees its memories. Requires that the caller still sees the project. */
async function sessionTarget(ctx: Ctx, session: WorkSession | undefined): Promise<MemoryTarget> {
  if (!session)
    throw invalid(
      '/scopeId',
      'scopeId is required: the id of the session that the memory is about. Or start a session.',
      'required',
      [{ tool: 'list_sessions', route: 'GET /api/sessions', command: 'tutti sessions list' }],
    )
  const { id, organizationId, projectId } = session
  if (projectId) await projects.findProject(ctx, projectId)
  return { scope: 'session', scopeId: id, organizationId, projectId }
}

type Container = Pick<MemoryTarget, 'organizationId' | 'projectId'>

/** Returns why the caller may not store or change memories here, or undefined. */
export const writeRefusal = (ctx: Ctx, place: Container): Promise<Refusal | undefined> =>
  projects.writerRefusal(ctx, place, 'Storing a memory here')

export const requireWriter = async (ctx: Ctx, place: Container): Promise<void> =>
  throwIfRefused(await writeRefusal(ctx, place))
