import type { Ctx } from '../action.ts'
import { AppError } from '../errors.ts'
import { hashDigits } from '../records/cursor.ts'

type Input = Record<string, unknown>

/** Digits that bind a cursor to its list. */
const SEAL = 2

/** Returns the digits for a list: of this tool, with these arguments, for this user in this team. */
function sealOf({ actor }: Ctx, tool: string, { cursor: _, limit: __, ...input }: Input, place: string): string {
  const filters = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1))
  return hashDigits(JSON.stringify([tool, actor.organizationId, actor.userId, filters, place]), SEAL)
}

/** Returns the arguments with the cursor as the action takes it. Refuses a cursor of another list. */
export function openCursor<I extends Input>(ctx: Ctx, tool: string, input: I): I {
  if (typeof input.cursor !== 'string') return input
  const cursor = input.cursor.slice(0, -SEAL)
  if (input.cursor !== cursor + sealOf(ctx, tool, input, cursor))
    throw new AppError(
      'invalid.cursor',
      'This cursor is not from this list. Repeat the arguments of the first call, or leave out cursor to start again.',
    )
  return { ...input, cursor }
}

/** Returns the result with its cursor bound to the list. */
export function sealCursor<R>(ctx: Ctx, tool: string, input: Input, result: R): R {
  const { nextCursor } = (result ?? {}) as { nextCursor?: unknown }
  if (typeof nextCursor !== 'string') return result
  return { ...result, nextCursor: nextCursor + sealOf(ctx, tool, input, nextCursor) }
}
