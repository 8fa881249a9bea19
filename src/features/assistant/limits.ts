import { eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { tooManyError } from '../../auth/limits.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import type { App } from '../../services.ts'
import { answerLimits } from '../search/answer.ts'
import { aiUsage } from './table.ts'

/** Answers of one person at the same time. */
const AT_ONCE = 2
const QUEUE_MS = 20_000

interface Waiting {
  start(): void
}

/** The answers that are being written by one server, and who waits for their turn. */
class AnswerSlots {
  #running = 0
  readonly #byUser = new Map<string, number>()
  readonly #queue = new Set<Waiting>()

  /** Throws 429 if the person already has this many answers in progress. Returns a function that ends this one. */
  enter(userId: string): () => void {
    const mine = this.#byUser.get(userId) ?? 0
    if (mine >= AT_ONCE)
      throw new AppError(
        'rate_limited',
        `${AT_ONCE} of your questions are being answered. Wait until one answer is complete.`,
        {
          retryAfter: 5,
        },
      )
    this.#byUser.set(userId, mine + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const left = (this.#byUser.get(userId) ?? 1) - 1
      if (left > 0) this.#byUser.set(userId, left)
      else this.#byUser.delete(userId)
    }
  }

  /** Waits for a free slot of the model. Returns a function that frees the slot. */
  async take(most: number, signal: AbortSignal | undefined): Promise<() => void> {
    if (this.#running >= most) await this.#wait(signal)
    else this.#running++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const [next] = this.#queue
      if (!next) this.#running--
      else {
        // Passes the slot on directly, so that no one else can take it.
        this.#queue.delete(next)
        next.start()
      }
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { start: resolve }
    const giveUp = () => {
      if (this.#queue.delete(waiting))
        reject(new AppError('unavailable', 'The chat model is busy. Try again in a moment.', { retryAfter: 10 }))
    }
    this.#queue.add(waiting)
    const timer = setTimeout(giveUp, QUEUE_MS)
    signal?.addEventListener('abort', giveUp, { once: true })
    return promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    })
  }
}

const slotsByApp = new WeakMap<App, AnswerSlots>()

export function answerSlotsOf(app: App): AnswerSlots {
  const known = slotsByApp.get(app) ?? new AnswerSlots()
  slotsByApp.set(app, known)
  return known
}

/** Throws 429 if the person has asked too often, or has used up the tokens of the day. */
export async function countQuestion(ctx: Ctx): Promise<void> {
  const userId = userIdOf(ctx.actor)
  if ((await tokensLeft(ctx)) === 0) {
    const [now, day] = [Date.parse(ctx.now), 86_400_000]
    const retryAfter = Math.ceil((day - (now % day)) / 1000)
    throw new AppError(
      'rate_limited',
      'You have used all your chat model tokens for today (UTC). Try again tomorrow.',
      {
        retryAfter,
      },
    )
  }
  const wait = answerLimits.take(userId)
  if (wait > 0) throw tooManyError(wait, 'questions')
}

const today = ({ now }: Ctx): string => now.slice(0, 10)

/** Returns how many tokens the person may still use today; null if there is no limit. */
export async function tokensLeft(ctx: Ctx): Promise<number | null> {
  const { CHAT_DAILY_TOKENS: most } = ctx.app.config
  if (most === 0) return null
  const [used] = await ctx.db
    .select({ tokens: aiUsage.tokens })
    .from(aiUsage)
    .where(and(eq(aiUsage.userId, userIdOf(ctx.actor)), eq(aiUsage.day, today(ctx))))
  return Math.max(0, most - (used?.tokens ?? 0))
}

/** Adds the cost of an answer, in the caller's transaction. */
export async function addUsage(ctx: Ctx, tokens: number): Promise<void> {
  await ctx.db
    .insert(aiUsage)
    .values({ userId: userIdOf(ctx.actor), day: today(ctx), answers: 1, tokens })
    .onConflictDoUpdate({
      target: [aiUsage.userId, aiUsage.day],
      set: {
        answers: sql`${aiUsage.answers} + 1`,
        tokens: sql`least(2000000000, ${aiUsage.tokens}::bigint + ${tokens})::int`,
      },
    })
}

/** Returns the usage of all users today, for administrators. */
export async function usageToday(ctx: Ctx): Promise<{ users: number; answers: number; tokens: number }> {
  const [sums] = await ctx.db
    .select({
      users: sql`count(*)`.mapWith(Number),
      answers: sql`coalesce(sum(${aiUsage.answers}), 0)`.mapWith(Number),
      tokens: sql`coalesce(sum(${aiUsage.tokens}), 0)`.mapWith(Number),
    })
    .from(aiUsage)
    .where(eq(aiUsage.day, today(ctx)))
  return sums ?? { users: 0, answers: 0, tokens: 0 }
}
