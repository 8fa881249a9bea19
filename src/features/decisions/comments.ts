import { desc, eq } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { currentUserOrAgent } from '../agents/users-and-agents.ts'
import { notifyMentioned } from '../projects/mentions.ts'
import * as projects from '../projects/rows.ts'
import { decisionCommented } from './events.ts'
import { decisionWriteRule } from './refusals.ts'
import { decisionEvent, findDecision, withAuthor } from './rows.ts'
import type { Comment } from './schema.ts'
import { decisionComments } from './table.ts'

const SHOWN = 200

/** Returns the last comments on a decision, oldest first. */
export async function commentsOn(ctx: Ctx, decisionId: string): Promise<Comment[]> {
  const rows = await ctx.db
    .select({
      id: decisionComments.id,
      authorType: decisionComments.authorType,
      authorId: decisionComments.authorId,
      authorName: decisionComments.authorName,
      body: decisionComments.body,
      createdAt: decisionComments.createdAt,
    })
    .from(decisionComments)
    .where(eq(decisionComments.decisionId, decisionId))
    .orderBy(desc(decisionComments.createdAt), desc(decisionComments.id))
    .limit(SHOWN)
  return rows.reverse().map(withAuthor)
}

export const commentOnDecision = write(
  'decisions.comment',
  decisionWriteRule,
  async (ctx, { ref, body, id }: { ref: string; body: string; id?: string }): Promise<Comment> => {
    const decision = await findDecision(ctx, ref)
    await projects.requireWriter(ctx, decision, 'Discussing this decision')
    const author = currentUserOrAgent(ctx)
    const values = {
      id,
      decisionId: decision.id,
      authorType: author.type,
      authorId: author.id,
      authorName: author.name,
      body,
      createdAt: ctx.now,
    }
    const [row] = await ctx.db.insert(decisionComments).values(values).returning({ id: decisionComments.id })
    ctx.emit(decisionCommented, decisionEvent(decision, { commentId: row?.id }))
    await notifyMentioned(ctx, decision, body, {
      title: `${author.name} mentions you on ${decision.title}`,
      message: body,
      about: { kind: 'decision', id: decision.id },
    })
    return { id: (row as { id: string }).id, author, body, createdAt: ctx.now }
  },
)
