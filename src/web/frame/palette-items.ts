/** The entries of the palette for a typed text. Each opens an address (`to`) or runs a command (`run`). */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { CircleDot, CornerDownRight, type LucideIcon, Moon, Search, Users, Zap } from 'lucide-react'
import { useDeferredValue } from 'react'
import type { Status } from '../../records/task-states.ts'
import { projectsQuery, teamsQuery } from '../account/session.ts'
import { storeTheme, type Theme } from '../account/theme.ts'
import { ok, search } from '../api.ts'
import { useRecordAddress } from '../record-address.ts'
import { type Command, useActiveCommands } from '../shortcuts.ts'
import { kindNames, words } from '../words.ts'
import { useDestinations, useProjectSlug } from './current-page.ts'
import { projectAddress, projectViews } from './destinations.ts'

export interface PaletteItem {
  id: string
  label: string
  icon: LucideIcon
  /** Shown before the label: the key of a task. */
  key?: string
  status?: Status
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

const KEY = /^[a-z]{2,6}-\d+$/i
const PER_GROUP = 6

const has = (label: string, text: string): boolean => label.toLowerCase().includes(text)
const among = (items: readonly PaletteItem[], text: string, most = PER_GROUP): PaletteItem[] =>
  items.filter(({ label }) => has(label, text)).slice(0, most)

const suggestionsQuery = (team: string, q: string) => ({
  queryKey: ['suggestions', team, q],
  queryFn: () => ok(search.search.suggestions.get({ query: { q, limit: 8 } })),
  enabled: q.length > 1,
  staleTime: 5000,
  placeholderData: (before: Suggestions | undefined) => before,
})
type Suggestions = Awaited<ReturnType<typeof search.search.suggestions.get>>['data'] & object

/** Returns the groups to show, best first. */
export function usePaletteGroups(typed: string): PaletteGroup[] {
  const text = typed.trim().toLowerCase()
  const found = useSuggestedRecords(text)
  const acts = usePageCommands()
  const goes = usePageLinks()
  const general = useThemesAndTeams()
  const groups: PaletteGroup[] = [
    ...acts.map(({ value, items }) => ({ value, items: among(items, text, text ? PER_GROUP : 12) })),
    { value: words.palette.found, items: text ? [...jumpToTask(typed.trim(), found), ...found] : [] },
    { value: words.palette.go, items: among(goes, text, text ? PER_GROUP : 8) },
    { value: words.palette.general, items: text ? among(general, text) : [] },
    { value: words.palette.search, items: text ? searchFor(typed.trim()) : [] },
  ]
  return groups.filter(({ items }) => items.length > 0)
}

/** `LAN-42` opens the task before the server has responded. */
const jumpToTask = (typed: string, found: readonly PaletteItem[]): PaletteItem[] => {
  const key = typed.toUpperCase()
  return KEY.test(typed) && !found.some((item) => item.key === key)
    ? [{ id: `jump ${key}`, label: words.palette.open(key), icon: CornerDownRight, to: `/tasks/${key}` }]
    : []
}

const searchFor = (q: string): PaletteItem[] => [
  { id: 'search', label: words.palette.searchFor(q), icon: Search, to: `/search?q=${encodeURIComponent(q)}` },
]

/** Records whose titles begin like this, or whose key it is. */
function useSuggestedRecords(text: string): PaletteItem[] {
  const { team } = useRouteContext({ from: '/inside' })
  const addressOf = useRecordAddress()
  const q = useDeferredValue(text)
  const { data } = useQuery(suggestionsQuery(team.id, q))
  if (!text || !data) return []
  return data.items.map((found) => {
    const { kind, id, title, key, status } = found
    const { to, search } = addressOf(found)
    return {
      id,
      label: title,
      icon: CircleDot,
      note: kindNames[kind].one,
      to: search.team ? `${to}?team=${search.team}` : to,
      ...(kind === 'task' && { key: key ?? undefined, status: (status ?? undefined) as Status | undefined }),
    }
  })
}

/** The commands of the page, grouped by the record that they act on. */
function usePageCommands(): PaletteGroup[] {
  const working = useActiveCommands().filter(({ label, keysOnly }) => label && !keysOnly)
  const on = [...new Set(working.map((command) => command.on))]
  return on.map((subject) => ({
    value: subject ? words.palette.doWith(subject) : words.palette.act,
    items: working.filter((command) => command.on === subject).map(toItem),
  }))
}
const toItem = ({ label = '', keys, run }: Command): PaletteItem => ({ id: `do ${label}`, label, icon: Zap, keys, run })

/** Pages, pages of this project, and projects. */
function usePageLinks(): PaletteItem[] {
  const { team } = useRouteContext({ from: '/inside' })
  const { destinations } = useDestinations()
  const slug = useProjectSlug()
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  return [
    ...destinations.map(({ to, label, icon, key }) => ({ id: to, label, icon, to, ...(key && { keys: `g ${key}` }) })),
    ...(slug
      ? projectViews.map(({ path, label, icon }) => ({
          id: `view ${path}`,
          label,
          icon,
          to: projectAddress(slug, path),
        }))
      : []),
    ...projects.map(({ id, slug, name, key }) => ({
      id,
      label: name,
      icon: destinations.find(({ to }) => to === '/projects')?.icon ?? CircleDot,
      note: key,
      to: projectAddress(slug),
    })),
  ]
}

/** Theme and team. */
function useThemesAndTeams(): PaletteItem[] {
  const teams = useQuery(teamsQuery).data ?? []
  return [
    ...(['light', 'dark', 'system'] as const).map((theme: Theme) => ({
      id: `theme ${theme}`,
      label: words.theme[theme],
      icon: Moon,
      run: () => storeTheme(theme),
    })),
    ...teams.map(({ slug, name }) => ({
      id: `team ${slug}`,
      label: words.palette.team(name),
      icon: Users,
      to: `/?team=${slug}`,
    })),
  ]
}
