import { and as drizzleAnd, or as drizzleOr, type SQL, type SQLWrapper, sql } from 'drizzle-orm'

type Condition = SQLWrapper | undefined

/** Drizzle's `and`, with a type that knows the result is defined when the first condition is. Skips undefined ones. */
export function and(first: SQLWrapper, ...rest: Condition[]): SQL
export function and(...conditions: Condition[]): SQL | undefined
export function and(...conditions: Condition[]): SQL | undefined {
  return drizzleAnd(...conditions)
}

/** Drizzle's `or`, typed like `and` above. */
export function or(first: SQLWrapper, ...rest: Condition[]): SQL
export function or(...conditions: Condition[]): SQL | undefined
export function or(...conditions: Condition[]): SQL | undefined {
  return drizzleOr(...conditions)
}

/** Unlike drizzle's `not`, it puts the condition in parentheses, so that an `and` in it is negated as a whole. */
export const not = (condition: SQLWrapper): SQL => sql`not (${condition})`
