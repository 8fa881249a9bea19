import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { FieldError } from './errors.ts'
import { fieldErrors, type TSchema } from './schema.ts'

const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>()

/**
 * Checks a value on surfaces that Elysia does not check. Not in schema.ts, because the compiler uses `new Function`,
 * which the content policy of a browser forbids.
 */
export function check(schema: TSchema, value: unknown): FieldError[] {
  let checker = compiled.get(schema)
  if (!checker) {
    checker = TypeCompiler.Compile(schema)
    compiled.set(schema, checker)
  }
  return checker.Check(value) ? [] : fieldErrors(checker.Errors(value))
}
