import { statuses } from './task-states.ts'

/**
 * The filters that a search query may contain besides words: `label:offline is:open @ada -project:lantern`. The server,
 * the dashboard, the command line and the copy on a user's computer read them with this function.
 */
export const filterKeys = ['label', 'assignee', 'project', 'status', 'is'] as const
type FilterKey = (typeof filterKeys)[number]

const conditions = ['open', 'done', 'blocked', 'ready', 'mine'] as const
export type TaskCondition = (typeof conditions)[number]

export interface QueryFilter {
  key: FilterKey
  /** One of these. */
  values: string[]
  /** The record has none of the values. */
  not?: true
  /** As it was typed. */
  text: string
}

export interface QueryTerms {
  /** The query without its filters. */
  words: string
  filters: QueryFilter[]
}

/** A phrase in quotes, whose words are no filters, or a filter. */
const term = /-?"[^"]*(?:"|$)|(?<=^|\s)(-?)(?:([a-z]+):("[^"]*"|[^\s"]+)|@([\p{L}\p{N}][\p{L}\p{N}._-]*))(?=\s|$)/giu
/** Each value costs a query. */
const MOST_VALUES = 20

/** Splits a query into words and filters. A term with an unknown key or value is left to the words. */
export function parseSearchQuery(query: string): QueryTerms {
  const filters: QueryFilter[] = []
  const words = query.replace(term, (text: string, minus?: string, key?: string, value = '', name?: string) => {
    const filter = name === undefined ? valuesOf(key?.toLowerCase(), value) : { key: 'assignee', values: [name] }
    if (!filter || count(filters) + filter.values.length > MOST_VALUES) return text
    filters.push({ ...(filter as Pick<QueryFilter, 'key' | 'values'>), ...(minus && { not: true }), text })
    return ''
  })
  return { words: filters.length > 0 ? words.replace(/\s+/g, ' ').trim() : query, filters }
}

const count = (filters: readonly QueryFilter[]): number => filters.reduce((sum, { values }) => sum + values.length, 0)

/** Returns the query without one of its filters. */
export const withoutFilter = (query: string, { text }: Pick<QueryFilter, 'text'>): string =>
  query
    .replace(term, (found) => (found === text ? '' : found))
    .replace(/\s+/g, ' ')
    .trim()

/** Returns the filter of a key and its values; undefined if one of them is unknown. */
function valuesOf(key: string | undefined, value: string): { key: FilterKey; values: string[] } | undefined {
  const known = filterKeys.find((one) => one === key)
  if (!known) return undefined
  // A quoted value may contain a comma.
  const values = value.startsWith('"') ? [value.slice(1, -1).trim()] : value.split(',')
  const wanted = known === 'status' || known === 'is' ? values.map(plainState) : values
  const isKnown = allowedValues[known]
  return wanted.every((one) => one !== '' && (!isKnown || isKnown.includes(one)))
    ? { key: known, values: wanted }
    : undefined
}

/** `In-review` and `in review` are `in_review`. */
const plainState = (value: string): string => value.toLowerCase().replace(/[\s-]+/g, '_')
const allowedValues: Partial<Record<FilterKey, readonly string[]>> = { status: statuses, is: conditions }
