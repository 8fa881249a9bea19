import { eq } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { machine, permissionOf, type Refusal } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { findProjectIfVisible } from '../projects/current.ts'
import { writerRefusal } from '../projects/rows.ts'
import * as projects from '../projects/service.ts'
import * as repositories from '../repositories/service.ts'
import { chatCreated, chatDeleted, chatRenamed } from './events.ts'
import {
  chatColumns,
  chatEvent,
  chatReadRule,
  chatWriteRule,
  findChat,
  findMessage,
  isOwnChat,
  messageColumns,
  requireEnabled,
} from './rows.ts'
import type {
  AiSession,
  AiSessionCreate,
  AiSessionPage,
  AiSessionQuery,
  AiSessionRead,
  Message,
  MessagePage,
  MessageQuery,
} from './schema.ts'
import { aiMessages, aiSessions } from './table.ts'

/** How many chats one person may keep. */
const MOST = 500

export const list = read('assistant.list', chatReadRule, async (ctx, query: AiSessionQuery): Promise<AiSessionPage> => {
  await requireEnabled(ctx)
  const orders = { updatedAt: aiSessions.updatedAt, createdAt: aiSessions.createdAt }
  const page = keyset(orders, aiSessions.id, query, { sort: 'updatedAt' })
  const filters = and(
    eq(aiSessions.userId, userIdOf(ctx.actor)),
    query.projectId ? eq(aiSessions.projectId, query.projectId) : undefined,
    query.repositoryId ? eq(aiSessions.repositoryId, query.repositoryId) : undefined,
    query.search ? contains(aiSessions.title, query.search) : undefined,
  )
  const rows = await ctx.db
    .select(chatColumns)
    .from(aiSessions)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(aiSessions, filters) : undefined)
})

export const get = read('assistant.get', chatReadRule, async (ctx, { id }: { id: string }): Promise<AiSessionRead> => {
  const session = await findChat(ctx, id)
  return { ...session, can: { accept: permissionOf(await acceptRefusal(ctx, session)) } }
})

/** Returns why the caller may not accept a proposal of this chat, or undefined. */
async function acceptRefusal(ctx: Ctx, { projectId }: AiSession): Promise<Refusal | undefined> {
  const project = await findProjectIfVisible(ctx, projectId)
  const organizationId = project?.organizationId ?? ctx.actor.organizationId
  return organizationId === null
    ? undefined
    : writerRefusal(ctx, { organizationId, projectId: project?.id ?? null }, 'Accepting a proposal')
}

/** Stores a chat, in the caller's transaction. Its project and repository have been found. */
export async function insertChat(ctx: Ctx, values: Partial<typeof aiSessions.$inferInsert>): Promise<string> {
  const userId = userIdOf(ctx.actor)
  if ((await ctx.db.$count(aiSessions, eq(aiSessions.userId, userId))) >= MOST)
    throw new AppError('conflict', `You have ${MOST} chats, which is the limit. Delete one first.`, {
      next: [{ route: 'DELETE /api/ai/sessions/{id}', page: '/assistant' }],
    })
  const [made] = await ctx.db
    .insert(aiSessions)
    .values({ organizationId: ctx.actor.organizationId, ...values, userId, createdAt: ctx.now, updatedAt: ctx.now })
    .returning({ id: aiSessions.id })
  const { id } = made as { id: string }
  ctx.emit(chatCreated, chatEvent(ctx, id))
  return id
}

/** A chat about a repository is also about its project. */
export const create = write(
  'assistant.create',
  chatWriteRule,
  async (ctx, { title, projectId, repositoryId }: AiSessionCreate): Promise<AiSession> => {
    await requireEnabled(ctx)
    const repository = repositoryId === undefined ? undefined : await repositories.get(ctx, { ref: repositoryId })
    const named = projectId ?? repository?.projectId
    const project = named ? await projects.get(ctx, { ref: named }) : undefined
    const id = await insertChat(ctx, {
      title: title?.trim(),
      organizationId: project?.organizationId ?? repository?.organizationId ?? ctx.actor.organizationId,
      projectId: project?.id,
      repositoryId: repository?.id,
    })
    return findChat(ctx, id)
  },
)

export const rename = write(
  'assistant.rename',
  chatWriteRule,
  async (ctx, { id, title }: { id: string; title: string }): Promise<AiSession> => {
    const before = await findChat(ctx, id)
    checkVersion(ctx, before)
    await updateVersioned(ctx, aiSessions, {
      columns: { id: aiSessions.id, version: aiSessions.version },
      before,
      set: { title: title.trim() },
      what: 'this chat',
      again: () => findChat(ctx, id),
    })
    ctx.emit(chatRenamed, chatEvent(ctx, id))
    return findChat(ctx, id)
  },
  { versioned: true },
)

/** Permanently deletes a chat with its messages. */
export const remove = write(
  'assistant.remove',
  chatWriteRule,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    checkVersion(ctx, await findChat(ctx, id))
    await ctx.db.delete(aiSessions).where(isOwnChat(ctx, id))
    ctx.emit(chatDeleted, chatEvent(ctx, id))
    return { id, deleted: true }
  },
  { destructive: true, versioned: true },
)

export const getMessage = read(
  'assistant.message',
  chatReadRule,
  async (ctx, { id, messageId }: { id: string; messageId: string }): Promise<Message> => {
    await findChat(ctx, id)
    return findMessage(ctx, id, messageId)
  },
)

/** Lists the messages of a chat, oldest first. */
export const messages = read(
  'assistant.messages',
  chatReadRule,
  async (ctx, { id, ...query }: MessageQuery & { id: string }): Promise<MessagePage> => {
    await findChat(ctx, id)
    const page = keyset({ createdAt: aiMessages.createdAt }, aiMessages.id, query, { sort: 'createdAt', order: 'asc' })
    const filters = eq(aiMessages.sessionId, id)
    const rows = await ctx.db
      .select(messageColumns)
      .from(aiMessages)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(aiMessages, filters) : undefined)
  },
)

type DemoMessage = Pick<Message, 'content'> &
  Partial<Pick<Message, 'sources' | 'citations' | 'proposals' | 'usage' | 'model'>>

/** Stores alternating questions and answers, for the demo, which has no chat model. */
export const storeMessages = write(
  'assistant.keepMessages',
  machine,
  async (ctx, { sessionId, messages: list }: { sessionId: string; messages: DemoMessage[] }): Promise<void> => {
    for (const [i, said] of list.entries()) {
      const { content, sources = [], citations = [], proposals = [], usage = null, model = null } = said
      await ctx.db.insert(aiMessages).values({
        ...{ sessionId, content, sources, citations, proposals, usage, model },
        createdAt: new Date(Date.parse(ctx.now) + i * 9000).toISOString(),
        role: i % 2 ? 'assistant' : 'user',
        status: 'complete',
      })
    }
  },
)
