import { eq } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { keyset } from '../../records/page.ts'
import { speaker } from '../agents/parties.ts'
import { type Notice, notify, settle } from '../notifications/service.ts'
import { mentioned, tellMentioned } from '../projects/mentions.ts'
import { readersOf } from '../projects/readers.ts'
import { taskCommented } from './events.ts'
import { changing, permitted } from './refusals.ts'
import { about, find } from './rows.ts'
import type { Comment, CommentPage, CommentQuery, Task } from './schema.ts'
import { taskComments } from './table.ts'

const visible = {
  id: taskComments.id,
  taskId: taskComments.taskId,
  authorType: taskComments.authorType,
  authorId: taskComments.authorId,
  authorName: taskComments.authorName,
  body: taskComments.body,
  asks: taskComments.asks,
  createdAt: taskComments.createdAt,
}
type CommentRow = Omit<Comment, 'author'> & {
  authorType: 'user' | 'agent'
  authorId: string | null
  authorName: string
}
const toComment = ({ authorType: type, authorId: id, authorName: name, ...rest }: CommentRow): Comment => ({
  ...rest,
  author: { type, id, name },
})

export const comments = read(
  'tasks.comments',
  member('tasks:read'),
  async (ctx, { ref, ...query }: CommentQuery & { ref: string }): Promise<CommentPage> => {
    const { id } = await find(ctx, ref)
    const page = keyset({ createdAt: taskComments.createdAt }, taskComments.id, query, {
      sort: 'createdAt',
      order: 'asc',
    })
    const rows = await ctx.db
      .select(visible)
      .from(taskComments)
      .where(page.where(eq(taskComments.taskId, id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(taskComments, eq(taskComments.taskId, id)) : undefined
    return page.page(rows.map(toComment), total)
  },
)

interface NewComment {
  ref: string
  body: string
  /** A question: whoever it concerns is notified, and it needs them until they comment. */
  asks?: boolean
  id?: string
}

export const comment = write(
  'tasks.comment',
  changing,
  async (ctx, { ref, body, asks = false, id: commentId }: NewComment): Promise<Comment> => {
    const { task } = await permitted(ctx, ref, 'comment')
    const { type, id, name } = speaker(ctx)
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
      .returning(visible)
    ctx.emit(taskCommented, about(task, { commentId: row?.id }))
    const notice = { message: body, link: `/tasks/${task.key}`, about: { kind: 'task' as const, id: task.id } }
    if (type === 'user') await settle(ctx, { id: task.id, reasons: ['question'], userId: id })
    if (asks) await tellAsked(ctx, task, { ...notice, title: `${name} asks about ${task.key}` })
    else await tellMentioned(ctx, task, body, { ...notice, title: `${name} mentions you on ${task.key}` })
    return toComment(row as CommentRow)
  },
)

/**
 * Notifies those whom a question concerns: the people it names; if it names none, the person that the asking agent
 * works for; if a person asks, whoever does the task or has an agent do it, and otherwise who created it.
 */
async function tellAsked(ctx: Ctx, task: Task, notice: Omit<Notice, 'userId' | 'reason'>): Promise<void> {
  const named = await mentioned(ctx, task, notice.message ?? '')
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
