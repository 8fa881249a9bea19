/** The records that the palette finds: by key and title while you type, then by label, comment and text. */
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { CircleDot, type LucideIcon, NotebookText, Scale } from 'lucide-react'
import { useDeferredValue } from 'react'
import type { Found, Suggestion, UnderstoodFilter } from '../../../features/search/schema.ts'
import { parseSearchQuery } from '../../../records/query-filters.ts'
import type { Status } from '../../../records/task-states.ts'
import { ok, search } from '../../api.ts'
import { useRecordAddress } from '../../record-address.ts'
import { kindNames, words } from '../../words.ts'

export interface PaletteItem {
  id: string
  label: string
  icon: LucideIcon
  /** Shown before the label: the key of a task. */
  key?: string
  /** Shown before the name of a project. */
  color?: string
  status?: Status
  /** Shown after the label: the text around a match. */
  detail?: string | undefined
  /** Shown at the right: the kind of the record, or the shortcut. */
  note?: string
  keys?: string
  to?: string
  run?(): void
}

export interface PaletteGroup {
  value: string
  items: PaletteItem[]
}

export interface PaletteResults {
  groups: PaletteGroup[]
  /** The filters that the query contains. */
  filters: readonly UnderstoodFilter[]
}

const EACH = 6

const suggestionsQuery = (team: string, q: string) =>
  queryOptions({
    queryKey: ['suggestions', team, q],
    queryFn: () => ok(search.search.suggestions.get({ query: { q, limit: 8 } })),
    enabled: q.length > 1,
    staleTime: 5000,
    placeholderData: keepPreviousData,
  })

const resultsQuery = (team: string, q: string) =>
  queryOptions({
    queryKey: ['search', team, 'palette', q],
    queryFn: () => ok(search.search.get({ query: { q, limit: EACH } })),
    enabled: q.length > 1,
    staleTime: 5000,
    placeholderData: keepPreviousData,
  })

/** Returns the records for a typed text, by kind. */
export function usePaletteResults(typed: string): PaletteResults {
  const { team } = useRouteContext({ from: '/inside' })
  const toItem = useRecordItem()
  const q = useDeferredValue(typed.trim())
  const hasFilters = parseSearchQuery(q).filters.length > 0
  const suggested = useQuery(suggestionsQuery(team.id, hasFilters ? '' : q)).data
  const found = useQuery(resultsQuery(team.id, q)).data
  if (!typed.trim()) return { groups: [], filters: [] }
  const records: (Suggestion | Found)[] = [
    ...((!hasFilters && suggested?.items) || []),
    ...(found?.items.flatMap(({ items }) => items) ?? []),
  ]
  const once = [...new Map(records.toReversed().map((record) => [record.id, record])).values()].reverse()
  const group = (value: string, isIn: (kind: string) => boolean): PaletteGroup => ({
    value,
    items: once
      .filter(({ kind }) => isIn(kind))
      .slice(0, EACH)
      .map(toItem),
  })
  return {
    groups: [
      group(words.palette.tasks, (kind) => kind === 'task'),
      group(words.palette.knowledge, isKnowledge),
      group(words.palette.others, (kind) => kind !== 'task' && !isKnowledge(kind)),
    ],
    filters: found?.filters ?? [],
  }
}

const isKnowledge = (kind: string): boolean => kind === 'note' || kind === 'decision'
const icons: Partial<Record<string, LucideIcon>> = { note: NotebookText, decision: Scale }

function useRecordItem(): (record: Suggestion | Found) => PaletteItem {
  const addressOf = useRecordAddress()
  return (record) => {
    const { kind, id, title, key, status } = record
    const { to, search: query } = addressOf(record)
    return {
      id,
      label: title,
      icon: icons[kind] ?? CircleDot,
      detail: 'highlight' in record ? excerptOf(record.highlight) : undefined,
      to: query.team ? `${to}?team=${query.team}` : to,
      ...(kind === 'task'
        ? { key: key ?? undefined, status: (status ?? undefined) as Status | undefined }
        : { note: kindNames[kind].one }),
    }
  }
}

/** Returns the text around the first match, unless the title matches. */
function excerptOf({ title, text }: Found['highlight']): string | undefined {
  const first = text.findIndex(({ match }) => match)
  if (first < 0 || title.some(({ match }) => match)) return undefined
  const before = text[first - 1]?.text.split(/\s+/).slice(-3).join(' ') ?? ''
  const from = text.slice(first).map((part) => part.text)
  return [before, ...from].join('').replace(/\s+/g, ' ').slice(0, 80).trim()
}
