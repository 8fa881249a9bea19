/** What the field of the filter bar finds: values of all kinds. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { useMemo } from 'react'
import { agentsQuery, membersQuery, projectsQuery } from '../../../account/session.ts'
import { priorityNames, statusNames } from '../../../words.ts'
import { ALL_PROJECTS, taskCountsQuery } from '../queries.ts'
import { type FilterName, isNegatable, parseFilter, type TaskSearch } from '../search.ts'
import { words } from '../words.ts'

export interface FilterEntry {
  name: FilterName
  value: string
  label: string
  /** How many tasks have this value, where it is known. */
  n?: number
}

const entriesOf = (name: FilterName, names: Readonly<Record<string, string>>): FilterEntry[] =>
  Object.entries(names).map(([value, label]) => ({ name, value, label }))

const DAY = 86_400_000
/** The date so many days from now. */
const dayFromNow = (days: number): string => new Date(Date.now() + days * DAY).toLocaleDateString('sv')

/** The values that can be chosen; `enabled` loads the lists that they come from. */
export function useFilterEntries(scope: string, enabled: boolean): FilterEntry[] {
  const { team } = useRouteContext({ from: '/inside' })
  const members = useQuery({ ...membersQuery(team.id), enabled }).data
  const agents = useQuery({ ...agentsQuery(team.id), enabled }).data
  const labels = useQuery({ ...taskCountsQuery(scope, 'label'), enabled }).data
  const epics = useQuery({ ...taskCountsQuery(scope, 'epic'), enabled }).data
  const projects = useQuery({ ...projectsQuery(team.id), enabled: enabled && scope === ALL_PROJECTS }).data
  return useMemo(() => {
    const people = [...(members ?? []), ...(agents ?? [])].map(({ id, name }) => [id, name] as const)
    const parties = (name: 'assignee' | 'holder') => entriesOf(name, { me: words.me, ...Object.fromEntries(people) })
    return [
      ...entriesOf('status', statusNames),
      ...entriesOf('priority', priorityNames),
      ...parties('assignee'),
      { name: 'assignee', value: 'none', label: words.nobody },
      ...parties('holder'),
      ...entriesOf('leased', words.leased),
      ...(labels ?? []).flatMap(({ value, n }): FilterEntry[] =>
        value ? [{ name: 'label', value, label: value, n }] : [],
      ),
      ...(epics ?? []).flatMap(({ value, name, n }): FilterEntry[] =>
        value ? [{ name: 'epic', value, label: name ?? value, n }] : [],
      ),
      ...(projects ?? []).map(({ slug, name }): FilterEntry => ({ name: 'project', value: slug, label: name })),
      { name: 'dueBefore', value: dayFromNow(0), label: words.overdue },
      { name: 'dueBefore', value: dayFromNow(8), label: words.dueWithin(7) },
      ...entriesOf('updatedAfter', words.updated),
    ]
  }, [members, agents, labels, epics, projects])
}

/** How many values of each kind are listed before anything is typed. */
const AT_FIRST = 7

/** Returns the entries with all of the words, in any order, by kind; a text is also a filter of its own. */
export function matchEntries(entries: readonly FilterEntry[], text: string, isNot: boolean): FilterEntry[] {
  const wanted = text.toLocaleLowerCase().split(/\s+/).filter(Boolean)
  const usable = entries.filter(({ name }) => !isNot || isNegatable(name))
  if (wanted.length === 0) {
    const seen = new Map<FilterName, number>()
    return usable.filter(({ name }) => {
      seen.set(name, (seen.get(name) ?? 0) + 1)
      return (seen.get(name) ?? 0) <= AT_FIRST
    })
  }
  const matches = ({ name, label }: FilterEntry) => {
    const has = `${words.filters[name]} ${label}`.toLocaleLowerCase()
    return wanted.every((word) => has.includes(word))
  }
  const found = usable.filter(matches)
  return isNot ? found : [...found, { name: 'q', value: text.trim(), label: words.contains(text.trim()) }]
}

/** Returns how the values of a filter read: with names instead of ids. */
export function filterText(name: FilterName, search: TaskSearch, entries: readonly FilterEntry[]): string {
  const written = String(search[name])
  const nameOf = (value: string) => entries.find((entry) => entry.name === name && entry.value === value)?.label
  if (name === 'q') return `“${written}”`
  if (!isNegatable(name)) return name.startsWith('due') ? written : (nameOf(written) ?? written)
  return parseFilter(written)
    .values.map((value) => nameOf(value) ?? (name === 'epic' ? words.filters.epic : value))
    .join(', ')
}
