import { eq } from 'drizzle-orm'
import { read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { keyset } from '../../records/page.ts'
import { speaker } from '../agents/parties.ts'
import { tellMentioned } from '../projects/mentions.ts'
import { taskCommented } from './events.ts'
import { changing, permitted } from './refusals.ts'
import { about, find } from './rows.ts'
import type { Comment, CommentPage, CommentQuery } from './schema.ts'
import { taskComments } from './table.ts'

const visible = {
  id: taskComments.id,
  taskId: taskComments.taskId,
  authorType: taskComments.authorType,
  authorId: taskComments.authorId,
  authorName: taskComments.authorName,
  body: taskComments.body,
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

export const comment = write(
  'tasks.comment',
  changing,
  async (ctx, { ref, body, id: commentId }: { ref: string; body: string; id?: string }): Promise<Comment> => {
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
        createdAt: ctx.now,
      })
      .returning(visible)
    ctx.emit(taskCommented, about(task, { commentId: row?.id }))
    await tellMentioned(ctx, task, body, {
      title: `${name} mentions you on ${task.key}`,
      message: body,
      link: `/tasks/${task.key}`,
      about: { kind: 'task', id: task.id },
    })
    return toComment(row as CommentRow)
  },
)
