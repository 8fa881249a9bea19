import { MOST_DEPTH } from '../../text/json-depth.ts'

/** Removes characters that no column accepts from a text of a machine. */
export const toStorableText = (text: string): string => text.replaceAll('\0', '').toWellFormed()

/** Makes JSON of a machine storable. Values nested too deep are left out. */
export function toStorable(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return toStorableText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MOST_DEPTH) return null
  if (Array.isArray(value)) return value.map((item) => toStorable(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [toStorableText(key), toStorable(item, depth + 1)]),
  )
}
