import { and, desc, eq, gt, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { randomTail } from '../../auth/secrets.ts'
import { notFound, withSentence } from '../../errors.ts'
import { idempotencyKeys as kept } from '../../events/table.ts'

/**
 * Plans that `create_plan` refused, so that a correction need not repeat them. They are stored among the idempotency
 * keys, which also belong to one credential and expire: all instances see them, and the hourly upkeep deletes them.
 */
const KEEP_MINUTES = 10
const MOST_KEPT = 5
const MOST_CHARACTERS = 256_000

const planWriteRule = member('tasks:write')
const ACTION = 'planning.keepRefused'
/** Longer than the 200 characters that callers may send as keys, so that they never collide. */
const keyOf = (id: string): string => `plan ${id}`.padStart(250)
const LENGTH = 4
const idForm = /^[0-9a-z]{4}$/
const isOwn = (ctx: Ctx) => and(eq(kept.credentialId, ctx.actor.credentialId ?? sql`null`), eq(kept.action, ACTION))

/**
 * Stores the arguments of a refused call and returns their id: that of the call that they correct, or a new one.
 * Returns undefined if they are too long.
 */
export const keepRefusedPlan = write(
  ACTION,
  planWriteRule,
  async (ctx, { id = randomTail(LENGTH), args }: { id?: string; args: object }): Promise<string | undefined> => {
    const { credentialId } = ctx.actor
    if (!credentialId || JSON.stringify(args).length > MOST_CHARACTERS) return undefined
    const newest = ctx.db
      .select({ key: kept.key })
      .from(kept)
      .where(isOwn(ctx))
      .orderBy(desc(kept.expiresAt))
      .limit(MOST_KEPT - 1)
    await ctx.db.delete(kept).where(and(isOwn(ctx), sql`${kept.key} not in ${newest}`))
    const expiresAt = new Date(Date.parse(ctx.now) + KEEP_MINUTES * 60_000).toISOString()
    const row = { action: ACTION, fingerprint: '', answer: args, expiresAt }
    const stored = await ctx.db
      .insert(kept)
      .values({ credentialId, key: keyOf(id), ...row })
      .onConflictDoUpdate({ target: [kept.credentialId, kept.key], set: row, setWhere: eq(kept.action, ACTION) })
      .returning({ key: kept.key })
    return stored.length > 0 ? id : undefined
  },
  { bookkeeping: true },
)

/** Returns the arguments of a refused call of the same credential. */
export const findRefusedPlan = read('planning.findRefused', planWriteRule, async (ctx, { id }: { id: string }) => {
  const [row] = idForm.test(id)
    ? await ctx.db
        .select({ args: kept.answer })
        .from(kept)
        .where(and(isOwn(ctx), eq(kept.key, keyOf(id)), gt(kept.expiresAt, ctx.now)))
    : []
  if (!row)
    throw withSentence(notFound('plan', id), `A refused plan is kept for ${KEEP_MINUTES} minutes. Send epics again.`)
  return row.args as Record<string, unknown>
})
