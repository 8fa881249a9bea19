import { type EventCatalogue, type EventWords, isHandLogged, splitType } from './catalogue.ts'

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Returns `1 task`, `2 tasks`. */
export const countOf = (n: unknown, one: string, many: string): string => `${Number(n)} ${n === 1 ? one : many}`

export const withArticle = (noun: string): string =>
  `${/^([aeio]|u(?!se))/.test(noun) ? 'an' : 'a'} ${noun.replaceAll('_', ' ')}`

/** Readable names of fields. */
const fieldNames: Readonly<Record<string, string>> = {
  after: 'the place',
  accepted: 'acceptance',
  addLabels: 'labels',
  removeLabels: 'labels',
  blockedBy: 'what it waits for',
  addBlockedBy: 'what it waits for',
  removeBlockedBy: 'what it waits for',
  dueAt: 'due date',
  avatarUrl: 'picture',
  coverUrl: 'cover',
}
/** Returns the name of a field in words: `storyId` is `story`, `completionNotes` is `completion notes`. */
const fieldName = (field: string): string =>
  fieldNames[field] ??
  field
    .replace(/(?<=[a-z])(Id|At)$/, '')
    .replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase()

/** Returns the name of a state in words: `in_review` is `in review`. */
export const stateName = (state: unknown): string => String(state).replaceAll('_', ' ')

/** For verbs where "verb noun" reads badly or lacks detail. The `words` of an event's definition take precedence. */
const phrases: Readonly<Record<string, EventWords>> = {
  updated: (what, { fields, from, status, cleared }) => {
    if (text(from) && text(status) && from !== status) {
      const ticks = Array.isArray(cleared) ? ` and cleared ${countOf(cleared.length, 'tick', 'ticks')}` : ''
      return `moved ${what} from ${stateName(from)} to ${stateName(status)}${ticks}`
    }
    // A status that was set to the value it already had was not changed.
    const changed = Array.isArray(fields) ? fields.filter((field) => field !== 'status' || from !== status) : []
    const names = [...new Set(changed.map((field) => fieldName(String(field))))]
    return `changed ${names.length > 0 ? `${names.join(', ')} of ` : ''}${what}`
  },
  commented: (what) => `commented on ${what}`,
}

/**
 * Describes an event, to be shown after the actor's name: `completed TUT-4 Lock the data folder`. `subject`: what the
 * event is about, if the data does not name it.
 */
export function describeEvent(
  catalogue: EventCatalogue,
  type: string,
  data: Record<string, unknown>,
  subject?: string,
): string {
  if (isHandLogged(type)) return text(data.description) ?? type
  const parts = splitType(type)
  const noun = text(data.noun) ?? parts.noun
  const key = text(data.key)
  const name = text(data.title) ?? text(data.name) ?? (Array.isArray(data.goals) ? text(data.goals[0]) : undefined)
  const what = key
    ? [key, name].filter(Boolean).join(' ')
    : name
      ? `${noun.replaceAll('_', ' ')} ${name}`
      : (subject ?? withArticle(noun))
  const words = catalogue.get(type)?.words ?? phrases[parts.verb]
  return words?.(what, data) ?? `${parts.verb.replaceAll('_', ' ')} ${what}`
}
