import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { FieldError } from './errors.ts'
import { fieldErrors, type TSchema } from './schema.ts'

/** For surfaces that Elysia does not check. Compiles with `new Function`, which a browser's content policy forbids: not in schema.ts. */
const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>()

export function check(schema: TSchema, value: unknown): FieldError[] {
  let checker = compiled.get(schema)
  if (!checker) {
    checker = TypeCompiler.Compile(schema)
    compiled.set(schema, checker)
  }
  return checker.Check(value) ? [] : fieldErrors(checker.Errors(value))
}
