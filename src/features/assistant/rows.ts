import { eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Actor, userIdOf } from '../../auth/actor.ts'
import { account, type Rule } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { organizations } from '../organizations/table.ts'
import { findProjectIfVisible } from '../projects/current.ts'
import type { Project } from '../projects/schema.ts'
import { settingsOf } from '../settings/values.ts'
import type { AiSession, Message } from './schema.ts'
import { aiMessages, aiSessions } from './table.ts'

/** For people only: agents have their own model. An administrator who acts as a user cannot read the user's chats. */
export const chatReadRule: Rule = { ...account('ai:read'), own: true }
export const chatWriteRule: Rule = { ...account('ai:write'), own: true }

/** Throws 404 if administrators have turned the assistant off. */
export async function requireEnabled(ctx: Ctx): Promise<void> {
  if (!(await settingsOf(ctx)).assistant.enabled)
    throw new AppError('not_found', 'The assistant is turned off on this server.')
}

export const chatColumns = {
  id: aiSessions.id,
  createdAt: aiSessions.createdAt,
  updatedAt: aiSessions.updatedAt,
  version: aiSessions.version,
  title: aiSessions.title,
  organizationId: aiSessions.organizationId,
  projectId: aiSessions.projectId,
  repositoryId: aiSessions.repositoryId,
  // Names the tables, because drizzle omits them in a query with one table.
  messages: sql`(select count(*) from ${aiMessages} m where m.session_id = ${aiSessions}.id)`.mapWith(Number),
}

export const messageColumns = {
  id: aiMessages.id,
  sessionId: aiMessages.sessionId,
  createdAt: aiMessages.createdAt,
  role: aiMessages.role,
  content: aiMessages.content,
  status: aiMessages.status,
  sources: aiMessages.sources,
  citations: aiMessages.citations,
  proposals: aiMessages.proposals,
  usage: aiMessages.usage,
  model: aiMessages.model,
  error: aiMessages.error,
}

export const isOwnChat = (ctx: Ctx, id: string) =>
  and(eq(aiSessions.id, id), eq(aiSessions.userId, userIdOf(ctx.actor)))

/** Finds a chat of the caller. In a write it locks the chat until the transaction ends. */
export async function findChat(ctx: Ctx, id: string): Promise<AiSession> {
  await requireEnabled(ctx)
  const found = ctx.db.select(chatColumns).from(aiSessions).where(isOwnChat(ctx, id)).$dynamic()
  const [session] = await (ctx.unit ? found.for('update') : found)
  if (!session) throw notFound('chat', id)
  return session
}

/** Finds a message of a chat. The caller has checked the right to the chat. */
export async function findMessage(ctx: Ctx, sessionId: string, id: string): Promise<Message> {
  const [found] = await ctx.db
    .select(messageColumns)
    .from(aiMessages)
    .where(and(eq(aiMessages.id, id), eq(aiMessages.sessionId, sessionId)))
  if (!found) throw notFound('message', id)
  return found
}

export const chatEvent = (ctx: Ctx, id: string) => ({ subjectId: id, userId: userIdOf(ctx.actor) })

export interface Asker {
  /** The caller, with the rights that this chat needs and no others. */
  ctx: Ctx
  project: Project | undefined
}

/**
 * Narrows the caller's rights to the team and project of a chat, so that the model cannot read records of their other
 * teams. Leaves out a team that turned the assistant off. If the caller can no longer see the project, the chat has the
 * records of its team.
 */
export async function narrowAsker(ctx: Ctx, place: Pick<AiSession, 'organizationId' | 'projectId'>): Promise<Asker> {
  const { actor } = ctx
  const project = await findProjectIfVisible(ctx, place.projectId)
  const team = project?.organizationId ?? place.organizationId
  const off = await teamsWithoutAssistant(ctx, [...actor.memberships.keys(), ...actor.reach])
  const isOpen = (id: string | null | undefined): id is string => typeof id === 'string' && !off.has(id)
  const isMember = isOpen(team) && actor.memberships.has(team)
  const shared = project && isOpen(team) && !isMember
  // A member of another team that shares the workspace works in a team of their own.
  const current = isMember ? team : shared && isOpen(actor.organizationId) ? actor.organizationId : null
  const narrowed: Actor = {
    ...actor,
    organizationId: current,
    memberships: new Map([...actor.memberships].filter(([id]) => id === current)),
    workspaces: new Map([...actor.workspaces].filter(([id]) => shared && id === project.workspaceId)),
    reach: shared && actor.reach.includes(team) ? [team] : [],
  }
  return { ctx: { ...ctx, actor: narrowed }, project: isOpen(team) ? project : undefined }
}

/** Returns those of the teams whose setting `assistant` is false. */
export async function teamsWithoutAssistant(ctx: Ctx, ids: readonly string[]): Promise<Set<string>> {
  const rows = await ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(anyOf(organizations.id, idList(ids)), sql`${organizations.settings} -> 'assistant' = 'false'::jsonb`))
  return new Set(rows.map(({ id }) => id))
}
