import { eq, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { member, permissionOf, type Refusal, roleRefusalOn, ruleRefusal, throwIfRefused } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { currentUserOrAgent, isSameUserOrAgent } from '../agents/users-and-agents.ts'
import { type Notice, notify, settleNotifications } from '../notifications/service.ts'
import { findMentioned, notifyMentioned } from '../projects/mentions.ts'
import { readersOf } from '../projects/readers.ts'
import { taskCommentDeleted, taskCommentEdited, taskCommented } from './events.ts'
import { findPermitted, refusals, taskWriteRule } from './refusals.ts'
import { type FoundTask, findWithProject, taskEvent } from './rows.ts'
import type { Comment, CommentPage, CommentPatch, CommentQuery, commentActions, Task } from './schema.ts'
import { taskComments } from './table.ts'

const commentColumns = {
  id: taskComments.id,
  taskId: taskComments.taskId,
  authorType: taskComments.authorType,
  authorId: taskComments.authorId,
  authorName: taskComments.authorName,
  body: taskComments.body,
  asks: taskComments.asks,
  createdAt: taskComments.createdAt,
  editedAt: taskComments.editedAt,
  version: taskComments.version,
}
type CommentRow = Omit<Comment, 'author' | 'can'> & {
  authorType: 'user' | 'agent'
  authorId: string | null
  authorName: string
}
const toComment = ({ authorType: type, authorId: id, authorName: name, ...rest }: CommentRow): Comment => ({
  ...rest,
  author: { type, id, name },
})

export const listComments = read(
  'tasks.comments',
  member('tasks:read'),
  async (ctx, { ref, ...query }: CommentQuery & { ref: string }): Promise<CommentPage> => {
    const found = await findWithProject(ctx, ref)
    const { id } = found.task
    const page = keyset({ createdAt: taskComments.createdAt }, taskComments.id, query, {
      sort: 'createdAt',
      order: 'asc',
    })
    const rows = await ctx.db
      .select(commentColumns)
      .from(taskComments)
      .where(page.where(eq(taskComments.taskId, id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(taskComments, eq(taskComments.taskId, id)) : undefined
    const shown = rows.map(toComment).map((comment) => ({ ...comment, can: canChange(ctx, found, comment) }))
    return page.page(shown, total)
  },
)

interface NewComment {
  ref: string
  body: string
  /** A question: the people concerned are notified, and it stays open until they or one of their agents comment. */
  asks?: boolean
  id?: string
}

export const addComment = write(
  'tasks.comment',
  taskWriteRule,
  async (ctx, { ref, body, asks = false, id: commentId }: NewComment): Promise<Comment> => {
    const { task } = await findPermitted(ctx, ref, 'comment')
    const { type, id, name } = currentUserOrAgent(ctx)
    const [row] = await ctx.db
      .insert(taskComments)
      .values({
        id: commentId,
        taskId: task.id,
        authorType: type,
        authorId: id,
        authorName: name,
        body,
        asks,
        createdAt: ctx.now,
      })
      .returning(commentColumns)
    ctx.emit(taskCommented, taskEvent(task, { commentId: row?.id }))
    const notice = { message: body, about: { kind: 'task' as const, id: task.id } }
    await settleAnswered(ctx, task.id, asks)
    if (asks) await notifyAsked(ctx, task, { ...notice, title: `${name} asks about ${task.key}` })
    else await notifyMentioned(ctx, task, body, { ...notice, title: `${name} mentions you on ${task.key}` })
    return toComment(row as CommentRow)
  },
)

/**
 * A comment answers the open questions of the task if it is by the person who was asked, or by another of their agents
 * than the one that asked, unless the comment is a question itself.
 */
async function settleAnswered(ctx: Ctx, taskId: string, asks: boolean): Promise<void> {
  const { userId, agent } = ctx.actor
  if (!userId || (agent && asks)) return
  await settleNotifications(ctx, { id: taskId, reasons: ['question'], userId, notFrom: agent?.id })
}

/**
 * Notifies the people that a question concerns: those it mentions; otherwise the person that the asking agent works
 * for; for a question by a person, the assignee or the agent's person, and otherwise the task's creator.
 */
async function notifyAsked(ctx: Ctx, task: Task, notice: Omit<Notice, 'userId' | 'reason'>): Promise<void> {
  const named = await findMentioned(ctx, task, notice.message ?? '')
  const asked = named.length > 0 ? named : await concernedBy(ctx, task)
  await notify(ctx, ...asked.map((userId) => ({ ...notice, userId, reason: 'question' })))
}

async function concernedBy(ctx: Ctx, task: Task): Promise<string[]> {
  const { userId, agent } = ctx.actor
  if (agent && userId) return [userId]
  const parties = [task.lease?.holder, task.assignee]
  const people = parties.flatMap((party) => (party?.type === 'user' ? [party.id] : [party?.for?.id]))
  const others = [...people, task.createdById].filter((id): id is string => Boolean(id) && id !== userId)
  return readersOf(ctx, task.projectId, others.slice(0, 1))
}

type CommentAction = (typeof commentActions)[number]
const whatOf: Record<CommentAction, string> = {
  updateComment: 'Changing a comment of someone else',
  removeComment: 'Deleting a comment of someone else',
}

/** Returns why the caller may not change a comment: only its author and administrators of the team may. */
const changeRefusal = (ctx: Ctx, found: FoundTask, { author }: Comment, action: CommentAction): Refusal | undefined =>
  refusals.comment(ctx, found) ??
  (isSameUserOrAgent(author, currentUserOrAgent(ctx))
    ? undefined
    : roleRefusalOn(ctx.actor, found.project, 'admin', whatOf[action]))

/** Returns what the caller may do with a comment, for surfaces that offer actions. */
export const canChange = (ctx: Ctx, found: FoundTask, comment: Comment): Comment['can'] => {
  const byPolicy = ruleRefusal(ctx.actor, taskWriteRule, 'tasks.updateComment', ctx.app.clock)
  const ask = (action: CommentAction) => permissionOf(byPolicy ?? changeRefusal(ctx, found, comment, action))
  return { updateComment: ask('updateComment'), removeComment: ask('removeComment') }
}

interface CommentRef {
  ref: string
  commentId: string
}

/** Finds a comment of a task, and throws if the caller may not do this with it. */
async function changeable(ctx: Ctx, { ref, commentId }: CommentRef, action: CommentAction) {
  const found = await findWithProject(ctx, ref)
  const before = await findComment(ctx, found.task.id, commentId)
  throwIfRefused(changeRefusal(ctx, found, before, action))
  checkVersion(ctx, before)
  return { task: found.task, before }
}

/** Locks it, so that of two edits of one version the second is rejected. */
async function findComment(ctx: Ctx, taskId: string, commentId: string): Promise<Comment> {
  const [row] = await ctx.db
    .select(commentColumns)
    .from(taskComments)
    .where(and(eq(taskComments.id, commentId), eq(taskComments.taskId, taskId)))
    .for('update')
  if (!row) throw notFound('comment', commentId)
  return toComment(row)
}

export const updateComment = write(
  'tasks.updateComment',
  taskWriteRule,
  async (ctx, { ref, commentId, ...patch }: CommentPatch & CommentRef): Promise<Comment> => {
    const { task, before } = await changeable(ctx, { ref, commentId }, 'updateComment')
    await ctx.db
      .update(taskComments)
      .set({ ...patch, editedAt: ctx.now, version: sql`${taskComments.version} + 1` })
      .where(eq(taskComments.id, before.id))
    await settleUnasked(ctx, task.id)
    ctx.emit(taskCommentEdited, taskEvent(task, { commentId }))
    return findComment(ctx, task.id, commentId)
  },
  { versioned: true },
)

/** Settles the notifications of a task without open questions. */
async function settleUnasked(ctx: Ctx, taskId: string): Promise<void> {
  const questions = await ctx.db.$count(taskComments, and(eq(taskComments.taskId, taskId), eq(taskComments.asks, true)))
  if (questions === 0) await settleNotifications(ctx, { id: taskId, reasons: ['question'] })
}

/** Deletes a comment permanently. */
export const removeComment = write(
  'tasks.removeComment',
  taskWriteRule,
  async (ctx, at: CommentRef): Promise<{ id: string; deleted: true }> => {
    const { task, before } = await changeable(ctx, at, 'removeComment')
    await ctx.db.delete(taskComments).where(eq(taskComments.id, before.id))
    await settleUnasked(ctx, task.id)
    ctx.emit(taskCommentDeleted, taskEvent(task, { commentId: before.id }))
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)
