import { eq, gt, sql } from 'drizzle-orm'
import { NO_USER_ID, userIdOf } from '../../auth/actor.ts'
import { ruleRefusal } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { projectMoved } from '../projects/hooks.ts'
import { type ExportContext, extraExportLines } from '../transfer/hooks.ts'
import { chatColumns, chatReadRule, messageColumns } from './rows.ts'
import { aiMessages, aiSessions } from './table.ts'

/** When a project moves to another team, its chats move too. Their owners keep them. */
export const moveChats = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  await ctx.db.update(aiSessions).set({ organizationId }).where(eq(aiSessions.projectId, projectId))
})

/** Adds a person's own chats to their export. */
export const exportChats = extraExportLines.handle((_, exporting) => ({
  [Symbol.asyncIterator]: () => chatsOf(exporting),
}))

/** Chats per query: a person may have 500 with 200 messages each. */
const AT_ONCE = 20

async function* chatsOf({ renewedContext: renewed }: ExportContext): AsyncGenerator<object> {
  for (let after = NO_USER_ID; ; ) {
    const ctx = await renewed()
    if (ruleRefusal(ctx.actor, chatReadRule, 'assistant.list', ctx.app.clock)) return
    const own = eq(aiSessions.userId, userIdOf(ctx.actor))
    const chats = await ctx.db
      .select(chatColumns)
      .from(aiSessions)
      .where(and(own, gt(aiSessions.id, sql`${after}::uuid`)))
      .orderBy(aiSessions.id)
      .limit(AT_ONCE)
    const last = chats.at(-1)
    if (!last) return
    const ids = idList(chats.map(({ id }) => id))
    const rows = await ctx.db
      .select(messageColumns)
      .from(aiMessages)
      .where(anyOf(aiMessages.sessionId, ids))
      .orderBy(aiMessages.sessionId, aiMessages.createdAt, aiMessages.id)
    const byChat = Map.groupBy(rows, ({ sessionId }) => sessionId)
    for (const chat of chats) yield { chat: { ...chat, messages: byChat.get(chat.id) ?? [] } }
    if (chats.length < AT_ONCE) return
    after = last.id
  }
}
