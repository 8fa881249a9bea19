import { Type } from '@sinclair/typebox'
import { type AppError, invalid } from '../errors.ts'
import { priorities } from '../records/task-states.ts'
import { array, int, oneOf, optional, text, time, title } from '../schema.ts'

/**
 * THE ARGUMENTS THAT SEVERAL TOOLS TAKE, defined once, so that one name means one thing in all of them. An argument
 * that is named after a kind of record takes any reference to one. The instructions of the server say so once, and also
 * what `cursor` and `idempotencyKey` are: a description in every tool would cost too many tokens.
 */
export const reference = text(100, { minLength: 1 })
export const project = reference
export const task = reference
export const agent = reference
export const feature = reference
export const spec = reference
export const note = reference
export const session = text(100, { minLength: 1, description: 'Default: your last' })
export const repo = text(300, { minLength: 1, description: 'owner/name, URL or id', example: 'tutti/tutti' })

export const tags = optional(array(title(50), 50, { uniqueItems: true }))
export const priority = optional(oneOf(priorities))
export const query = optional(text(200))
export const acceptance = optional(array(title(500), 50))
export const blockedBy = optional(array(text(200), 50, { uniqueItems: true }))
export const supersedes = optional(text(36, { minLength: 8 }))

/** Several records in one call; the tool itself checks their fields. Lists of tools do not repeat these. */
export const several = Type.Array(Type.Unsafe<object>({ type: 'object' }), {
  maxItems: 50,
  description: 'Several: objects with these fields',
})
/** JSON of any form. A refusal names the limit of its size. */
export const anyObject = Type.Unsafe<object>({ type: 'object' })
/** Returns a refusal unless exactly one of the two forms was sent. */
export const oneOrSeveral = (one: string, many: string): AppError =>
  invalid(`/${one}`, `Send ${one} for one, or ${many} for several.`, 'required')

export const since = optional(time({ description: 'ISO date or time' }))
export const until = optional(time())
export const dueAt = since

/** `least` tokens: a brief with fewer could not name the next step. */
export const budgetTokens = (least: number) => optional(int({ min: least, max: 50_000 }))

/** Arguments of every list tool. */
export const listing = {
  limit: optional(int({ min: 1, max: 100, default: 20 })),
  cursor: optional(text(2000)),
}

/** The version that the caller read, as the instructions say. */
export const expectedVersion = int({ min: 1 })
