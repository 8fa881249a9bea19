import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { FieldError } from './errors.ts'
import { fieldErrors } from './field-errors.ts'
import { checkers, type TSchema } from './schema.ts'

const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>()

function checkerOf(schema: TSchema): TypeCheck<TSchema> {
  let checker = compiled.get(schema)
  if (!checker) {
    checker = TypeCompiler.Compile(schema)
    compiled.set(schema, checker)
  }
  return checker
}

checkers.of = (schema) => (value) => checkerOf(schema).Check(value)

/** Returns the value as actions get it, with dates as instants. It has been checked. */
export const decodeInput = <T>(schema: TSchema, value: T): T => checkerOf(schema).Decode(value) as T

/**
 * Checks a value on surfaces that Elysia does not check. Not in schema.ts, because the compiler uses `new Function`,
 * which the content policy of a browser forbids.
 */
export function check(schema: TSchema, value: unknown): FieldError[] {
  const checker = checkerOf(schema)
  return checker.Check(value) ? [] : fieldErrors(checker.Errors(value))
}
