import { type Catalogue, isByHand, partsOf, type Words } from './catalogue.ts'

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Returns `1 task`, `2 tasks`. */
export const count = (n: unknown, one: string, many: string): string => `${Number(n)} ${n === 1 ? one : many}`

export const article = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun.replaceAll('_', ' ')}`

/** For verbs where "verb noun" reads badly or lacks detail. The `words` of an event's definition take precedence. */
const phrases: Readonly<Record<string, Words>> = {
  updated: (what, { fields, from, status }) => {
    if (text(from) && text(status) && from !== status) return `moved ${what} from ${from} to ${status}`
    // A status that was set to the value it already had was not changed.
    const changed = Array.isArray(fields) ? fields.filter((field) => field !== 'status' || from !== status) : []
    return `changed ${changed.length > 0 ? `${changed.join(', ')} of ` : ''}${what}`
  },
  commented: (what) => `commented on ${what}`,
}

/** Returns what somebody did, to be shown after their name: `completed TUT-4 Lock the data folder`. */
export function inWords(catalogue: Catalogue, type: string, data: Record<string, unknown>): string {
  if (isByHand(type)) return text(data.description) ?? type
  const parts = partsOf(type)
  const noun = text(data.noun) ?? parts.noun
  const key = text(data.key)
  const name = text(data.title) ?? text(data.name) ?? (Array.isArray(data.goals) ? text(data.goals[0]) : undefined)
  const what = key
    ? [key, name].filter(Boolean).join(' ')
    : name
      ? `${noun.replaceAll('_', ' ')} ${name}`
      : article(noun)
  const words = catalogue.get(type)?.words ?? phrases[parts.verb]
  return words?.(what, data) ?? `${parts.verb.replaceAll('_', ' ')} ${what}`
}
