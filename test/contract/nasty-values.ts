import { check } from '../../src/check.ts'
import type { TSchema } from '../../src/schema.ts'

/**
 * A text that is slow to read for code that looks at it again and again: a short piece, repeated, and an end that makes
 * a pattern fail late.
 */
interface Piece {
  start?: string
  text: string
  end?: string
}

/** What the texts of one row are made of: each piece takes a part, so that fewer rows are needed. */
export interface Flavour {
  name: string
  pieces: readonly Piece[]
  /** Bytes in UTF-8 or characters in JSON for each character: limits count one or the other. */
  width: number
}

/** The head of a table whose short rows a parser fills with empty cells. */
const WIDE = `|${'a|'.repeat(120)}\n|${'-|'.repeat(120)}\n`

/** Markdown that takes long to parse or becomes far more HTML. Each piece is a block of its own. */
export const markdownPieces: readonly Piece[] = [
  { text: '>', end: '\n\n' },
  { text: '>- ', end: 'x\n\n' },
  { text: '- ', end: 'x\n\n' },
  { text: '1. ', end: 'x\n\n' },
  { text: `${'>'.repeat(32)}a\n\n` },
  { start: WIDE, text: '|\n', end: '\n' },
  { text: '|-|\n', end: '\n' },
  { text: '[', end: '\n\n' },
  { text: '![a](', end: '\n\n' },
  { text: '*a', end: '\n\n' },
  { text: '*_', end: '\n\n' },
  { text: '~~a~', end: '\n\n' },
  { text: Array.from({ length: 200 }, (_, n) => '`'.repeat(n + 1)).join(' '), end: '\n\n' },
  { text: '<', end: '\n\n' },
  { text: '<a@b.c>', end: '\n\n' },
  { text: '&amp;', end: '\n\n' },
  { text: '&#x1F600;', end: '\n\n' },
  { text: '[a]: b\n' },
  { start: `[a]: /${'x'.repeat(2000)}\n\n`, text: '[a] ', end: '\n\n' },
  { text: '- [ ] a\n', end: '\n' },
]

export const flavours: readonly Flavour[] = [
  {
    name: 'words',
    pieces: [{ text: 'a ' }, { text: 'a b c d e f g h i j k l m n o p q r s t u v w x y z ' }],
    width: 1,
  },
  {
    name: 'markup',
    pieces: [{ text: '{{a}}' }, { text: '{{ ' }, { text: '[[[(' }, { text: '[[a]] ' }, { text: '> > **_`<!--' }],
    width: 1,
  },
  {
    name: 'lines',
    pieces: [
      { text: '# a\n' },
      { text: '\n', end: 'x' },
      { text: 'a' },
      { text: ' \t', end: 'x' },
      { text: '-', end: 'x' },
    ],
    width: 1,
  },
  {
    name: 'marks',
    pieces: [
      { text: '"\\' },
      { text: 'a@a.a/~@a ', end: '!' },
      { text: 'e\u0301\u0323' },
      { text: '\u200d👩‍🚀', end: 'x' },
    ],
    width: 3,
  },
  { name: 'quotes', pieces: [{ text: '>' }], width: 1 },
  { name: 'Markdown', pieces: markdownPieces, width: 1 },
]

/** Returns a text of at most this many characters, and as many bytes. `index` makes it differ from others of a list. */
export function textOf({ pieces, width }: Flavour, length: number, index?: number): string {
  const head = index === undefined ? '' : `${index} `
  const each = Math.floor((length / width - head.length) / pieces.length)
  const body = pieces.map(
    ({ start = '', text, end = '' }) =>
      start + text.repeat(Math.max(0, (each - start.length - end.length) / text.length)) + end,
  )
  return (head + body.join('')).slice(0, length) || 'x'
}

/** A text of as many different words as it can hold, whose index entry is as large as can be. */
export function differentWords(length: number): string {
  let text = ''
  for (let n = 0; text.length < length - 8; n++) text += `${n.toString(36)} `
  return text
}

const DEPTH = 30
const ENTRIES = 100
const nestedObject = (flavour: Flavour, size: number): object => {
  const text = textOf(flavour, Math.floor(size / ENTRIES / 2))
  let value: object = Object.fromEntries(Array.from({ length: ENTRIES }, (_, i) => [`k${i}`, text]))
  for (let depth = 0; depth < DEPTH; depth++) value = { a: value }
  return value
}

/** Returns the largest value of this flavour that the schema takes; undefined where it takes only its example. */
export function largestValue(schema: TSchema, flavour: Flavour, most: number, index?: number): unknown {
  const value = makeValue(schema, flavour, most, index)
  return value === undefined || check(schema, value).length > 0 ? undefined : value
}

function makeValue(schema: TSchema, flavour: Flavour, most: number, index?: number): unknown {
  const options = schema.anyOf as TSchema[] | undefined
  if (options)
    return options.map((option) => largestValue(option, flavour, most, index)).find((v) => v !== undefined && v)
  if (schema.type === 'string' && schema.maxLength !== undefined)
    return textOf(flavour, Math.min(schema.maxLength as number, most), index)
  if (schema.type === 'array') {
    const size = (schema.maxItems as number | undefined) ?? 1
    const items = Array.from({ length: size }, (_, i) =>
      largestValue(schema.items, flavour, Math.floor(most / size), i),
    )
    return items.includes(undefined) ? undefined : items
  }
  if (schema.type !== 'object') return undefined
  return schema.properties ? fieldsOf(schema, flavour, most, index) : nestedObject(flavour, Math.min(most, 8000))
}

function fieldsOf(schema: TSchema, flavour: Flavour, most: number, index?: number): object | undefined {
  const fields = Object.entries(schema.properties as Record<string, TSchema>)
  const required = new Set((schema.required ?? []) as string[])
  const out: Record<string, unknown> = {}
  for (const [name, field] of fields) {
    const value = largestValue(field, flavour, Math.floor(most / fields.length), index)
    if (value !== undefined) out[name] = value
    else if (required.has(name)) return undefined
  }
  return out
}
