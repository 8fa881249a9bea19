import {
  FormatRegistry,
  Kind,
  type Static,
  type StringOptions,
  type TArray,
  type TNull,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnion,
  type TUnsafe,
  Type,
  TypeRegistry,
} from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { codes, type ErrorCode } from './errors.ts'

/**
 * The schema types of this project. One schema object is validator, TypeScript type, OpenAPI schema and MCP input
 * schema without conversion, so this file uses plain TypeBox only (Elysia's `t` puts coercions into the JSON Schema).
 * Objects are strict: an unknown field is refused, never dropped.
 */
export type { Static, TObject, TSchema }

const label = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const formats: Record<string, RegExp> = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  'date-time':
    /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/,
  // Each label begins directly after a dot, so the pattern can match an address in one way only: an ambiguous pattern
  // backtracks for seconds. Invisible characters are refused: they can imitate another address or control a terminal.
  email: new RegExp(String.raw`^[^\s\p{C}@<>"(),:;[\]\\]{1,64}@(${label}\.)*${label}$`, 'u'),
}
for (const [name, pattern] of Object.entries(formats))
  FormatRegistry.Set(name, (value) => value.length <= 320 && pattern.test(value))
/**
 * Allows no capitals but A to Z: JavaScript, databases and mail servers do not agree on how to lower-case others (İ).
 */
FormatRegistry.Set(
  'email',
  (value) => value.length <= 320 && formats.email?.test(value) === true && !/(?![A-Z])\p{Lu}/u.test(value),
)
/** The pattern alone accepts times that no database accepts: 31 February, the year 0, an offset of 99 hours. */
const isInstant = (value: string): boolean => {
  if (value.length > 40 || !formats['date-time']?.test(value)) return false
  const [year = 0, month = 0, day = 0] = value.slice(0, 10).split('-').map(Number)
  return year > 0 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate() && !Number.isNaN(Date.parse(value))
}
/** A date without a time begins at midnight UTC, for everyone. */
const midnight = (value: string): string => (value.length === 10 ? `${value}T00:00:00.000Z` : value)
FormatRegistry.Set('date-time', isInstant)
FormatRegistry.Set('date-or-time', (value) => isInstant(midnight(value)))
/** A time, or how long ago: `-7d`, `-12h`, `-2w`. */
const offset = /^-(\d{1,4})([hdw])$/
FormatRegistry.Set('time-or-offset', (value) => offset.test(value) || isInstant(midnight(value)))
FormatRegistry.Set('url', (value) => URL.canParse(value) && /^https?:\/\//i.test(value))

interface EnumSchema extends TSchema {
  enum: readonly string[]
}
TypeRegistry.Set<EnumSchema>('StringEnum', (schema, value) => typeof value === 'string' && schema.enum.includes(value))

/** A list of different scalars. TypeBox's own check hashes each character, which takes 100 ms for a megabyte. */
export const UNIQUE = 'UniqueArray'
TypeRegistry.Set<TSchema>(
  UNIQUE,
  (schema, value) =>
    Array.isArray(value) && checkers.of(withoutUnique(schema))(value) && new Set(value).size === value.length,
)

/** Returns the schema of the list without the rule that its items differ. */
export const withoutUnique = (schema: TSchema): TSchema => {
  const known = lists.get(schema)
  if (known) return known
  const { uniqueItems: _, ...rest } = schema
  const list = { ...rest, [Kind]: 'Array' } as TSchema
  lists.set(schema, list)
  return list
}
const lists = new WeakMap<TSchema, TSchema>()

/** How parts of a schema are checked; check.ts puts the compiler here. */
export const checkers: { of(schema: TSchema): (value: unknown) => boolean } = {
  of: (schema) => (value) => Value.Check(schema, value),
}

TypeRegistry.Set('Binary', (_, value) => value instanceof Uint8Array || value instanceof Response)

export const object = <T extends TProperties>(
  properties: T,
  options: { description?: string; examples?: object[] } = {},
): TObject<T> => Type.Object(properties, { additionalProperties: false, ...options })

/** Returns a copy of the object schema in which every field is optional. */
export const partial = <T extends TProperties>(source: TObject<T>) =>
  Type.Partial(source, { additionalProperties: false })

export const optional = <T extends TSchema>(schema: T): TOptional<T> => Type.Optional(schema) as TOptional<T>

type TextOptions = Pick<StringOptions, 'minLength' | 'pattern' | 'description'> & { example?: string; default?: string }
const texts = ({ example, ...rest }: TextOptions) => ({
  ...rest,
  ...(example !== undefined && { examples: [example] }),
})

export const text = (maxLength: number, options: TextOptions = {}) => Type.String({ maxLength, ...texts(options) })
/** Text with at least one character that is not white space. */
export const title = (maxLength: number, options: TextOptions = {}) =>
  text(maxLength, { pattern: '\\S', minLength: 1, ...options })
export const id = (options: TextOptions = {}) =>
  Type.String({ format: 'uuid', ...texts({ example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10', ...options }) })
export const instant = (options: TextOptions = {}) =>
  Type.String({ format: 'date-time', maxLength: 40, ...texts({ example: '2026-11-15T09:30:00.000Z', ...options }) })
/** The times in a text: as they stand there, and their instants, so that a page can write its reader's time. */
export const TimesInText = Type.Array(object({ text: text(40, { example: '2026-11-15 09:30' }), at: instant() }))
export type TimesInText = Static<typeof TimesInText>
/** A time in an input: an instant, or a date that is read as its midnight in UTC. Actions get an instant. */
export const time = (options: TextOptions = {}) =>
  Type.Transform(
    Type.String({
      format: 'date-or-time',
      maxLength: 40,
      ...texts({ example: '2026-11-15T09:30:00.000Z', ...options }),
    }),
  )
    .Decode(midnight)
    .Encode((value) => value)
/** A time in the past of a list's reader. `instantOf` turns it into an instant. */
export const pastTime = (options: TextOptions = {}) =>
  Type.String({ format: 'time-or-offset', maxLength: 40, ...texts({ example: '-7d', ...options }) })
const HOURS = { h: 1, d: 24, w: 168 }
export function instantOf(value: string, now: string): string {
  const [, n, unit] = offset.exec(value) ?? []
  if (n === undefined) return midnight(value)
  return new Date(Date.parse(now) - Number(n) * HOURS[unit as keyof typeof HOURS] * 3_600_000).toISOString()
}
export const email = () => Type.String({ format: 'email', maxLength: 254, examples: ['ada@example.com'] })
export const url = (options: TextOptions = {}) =>
  Type.String({ format: 'url', maxLength: 2000, ...texts({ example: 'https://example.com', ...options }) })

type IntOptions = { min?: number; max?: number; description?: string; default?: number; example?: number }
/** Number + multipleOf, not integer: Elysia then parses query strings without a coercing union in the document. */
export const int = ({ min = 0, max = 2_147_483_647, example, ...rest }: IntOptions = {}) =>
  Type.Number({
    multipleOf: 1,
    minimum: min,
    maximum: max,
    ...rest,
    ...(example !== undefined && { examples: [example] }),
  })
/** Always `true`: confirms in a response that something was done. */
export const yes = (options: { description?: string } = {}) => Type.Literal(true, options)
export const bool = (options: { description?: string; default?: boolean } = {}) => Type.Boolean(options)

export const oneOf = <const T extends readonly string[]>(
  values: T,
  { example, ...options }: { description?: string; default?: T[number]; example?: T[number] } = {},
): TUnsafe<T[number]> =>
  Type.Unsafe<T[number]>({
    [Kind]: 'StringEnum',
    type: 'string',
    enum: values,
    ...options,
    ...(example !== undefined && { examples: [example] }),
  })

/** The values that a list with commas may hold. A symbol, so that it stays out of JSON. */
export const ALLOWED: unique symbol = Symbol('allowed')
export const LISTED = 'StringEnumList'
export interface AllowedSchema extends TSchema {
  [ALLOWED]: readonly string[]
}
TypeRegistry.Set<TSchema>(
  LISTED,
  (schema, value) => typeof value === 'string' && new RegExp(schema.pattern).test(value),
)

/**
 * One or several of these values with commas between, for a parameter of an address: `todo,blocked`. With `negatable`,
 * each value may follow a `!`; the action checks that all of them do, or none.
 */
export const listOfValues = (
  values: readonly string[],
  { description, example, negatable }: { description?: string; example?: string; negatable?: true } = {},
): TUnsafe<string> => {
  const value = `${negatable ? '!?' : ''}(${values.join('|')})`
  return Type.Unsafe<string>({
    [Kind]: LISTED,
    [ALLOWED]: values,
    type: 'string',
    maxLength: 200,
    pattern: `^${value}(, ?${value})*$`,
    ...(description && { description }),
    examples: [example ?? values[0]],
  })
}

/** Splits such a parameter. */
export const splitList = <T extends string>(list: string | null | undefined): T[] =>
  (list?.split(',') ?? []).map((part) => part.trim()).filter((part) => part !== '') as T[]

/** A file in a form, or the body of a download. */
export const binary = <T>(contentMediaType: string, options: { description?: string } = {}): TUnsafe<T> =>
  Type.Unsafe<T>({ [Kind]: 'Binary', type: 'string', contentMediaType, examples: ['(bytes)'], ...options })

export const nullable = <T extends TSchema>(schema: T): TUnion<[T, TNull]> => Type.Union([schema, Type.Null()])
/** Marks an optional field that examples leave out, because another page of the reference shows it. */
export const noExample = Symbol('noExample')
/** The kind of record that an event is about. */
export const eventKind = nullable(text(100, { example: 'task', description: 'What it is about; null: logged by hand' }))
export const array = <T extends TSchema>(
  items: T,
  maxItems: number,
  { uniqueItems, ...options }: { description?: string; uniqueItems?: boolean } = {},
): TArray<T> => {
  const list = Type.Array(items, { maxItems, ...options })
  return uniqueItems ? Object.assign(list, { uniqueItems, [Kind]: UNIQUE }) : list
}
/** A free-form JSON object; its size is bounded where it is stored. */
export const jsonObject = (options: { description?: string } = {}) =>
  Type.Record(Type.String(), Type.Unknown(), options)

export const pageOf = <T extends TSchema>(item: T) =>
  object({ items: Type.Array(item), nextCursor: nullable(Type.String()), total: Type.Optional(int({ example: 1 })) })

/** Query parameters of every list; spread into the list's own query. */
export const paging = <const K extends readonly string[]>(...sort: K) => ({
  sort: optional(oneOf(sort)),
  order: optional(oneOf(['asc', 'desc'])),
  limit: optional(
    int({ min: 1, max: 200, description: 'Page size (default: 50); a page of very long records is shorter' }),
  ),
  cursor: optional(text(2000, { description: '`nextCursor` of the previous page' })),
  total: optional(bool({ description: 'Also count all matches' })),
})

/** Filter of lists of work: whether it is still to be done. */
export const openFilter = optional(bool({ description: 'true: only open ones; false: only closed ones' }))

/** Fields that every record has. */
export const recordFields = {
  id: id(),
  createdAt: instant(),
  updatedAt: instant(),
  version: int({ min: 1, example: 1 }),
}

/** Why the reader of a record may not do something with it. */
export const refusalFields = {
  code: oneOf(Object.keys(codes) as ErrorCode[]),
  detail: Type.String({ examples: ['It is archived.'] }),
}
const permission = Type.Union([Type.Literal(true), object(refusalFields)])
/** What the reader of a record may do with it, by action name: `true`, or the refusal they would get. */
export const permissions = <const A extends readonly string[]>(actions: A) =>
  object(Object.fromEntries(actions.map((action) => [action, permission])) as Record<A[number], typeof permission>, {
    description: 'What you may do with it: true, or why not',
  })

/** One way out of an error or a wait; see `WayOut` in errors.ts. */
export const WayOut = object({
  tool: optional(text(100, { example: 'advance_feature', description: 'An MCP tool' })),
  route: optional(text(500, { example: 'POST /api/features/{id}/advance', description: 'A route of this API' })),
  command: optional(text(500, { example: 'tutti features advance <feature>', description: 'A command line' })),
  page: optional(
    text(500, { example: '/settings/profile', description: 'A page of this server, to open in a browser' }),
  ),
})

export const Deleted = object({ id: id(), deleted: Type.Literal(true) })
