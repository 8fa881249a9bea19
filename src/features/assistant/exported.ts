import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { refusalOf } from '../../auth/policy.ts'
import { exportedToo } from '../transfer/hooks.ts'
import { message, reading, visible } from './rows.ts'
import { aiMessages, aiSessions } from './table.ts'

/** A person's chats belong to their export; nobody else's do. */
export const exportChats = exportedToo.handle((ctx) => ({
  async *[Symbol.asyncIterator]() {
    if (!refusalOf(ctx.actor, reading, 'assistant.list', ctx.app.clock)) yield* chatsOf(ctx)
  },
}))

async function* chatsOf(ctx: Ctx): AsyncGenerator<object> {
  const sessions = await ctx.db
    .select(visible)
    .from(aiSessions)
    .where(eq(aiSessions.userId, userIdOf(ctx.actor)))
    .orderBy(aiSessions.id)
  for (const session of sessions) {
    const messages = await ctx.db
      .select(message)
      .from(aiMessages)
      .where(eq(aiMessages.sessionId, session.id))
      .orderBy(aiMessages.createdAt, aiMessages.id)
    yield { chat: { ...session, messages } }
  }
}
