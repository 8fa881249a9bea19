/** The entries of the palette for a typed text. Each opens an address (`to`) or runs a command (`run`). */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { CircleDot, CornerDownRight, Moon, Search, Users, Zap } from 'lucide-react'
import { parseSearchQuery } from '../../../records/query-filters.ts'
import { projectsQuery, teamsQuery } from '../../account/session.ts'
import { storeTheme, type Theme } from '../../account/theme.ts'
import { type Command, useActiveCommands } from '../../shortcuts.ts'
import { words } from '../../words.ts'
import { useDestinations, useProjectSlug } from '../current-page.ts'
import { projectAddress, projectViews } from '../destinations.ts'
import { type PaletteGroup, type PaletteItem, type PaletteResults, usePaletteResults } from './palette-results.ts'

const KEY = /^[a-z]{2,6}-\d+$/i
const PER_GROUP = 6

const has = (label: string, text: string): boolean => label.toLowerCase().includes(text)
const among = (items: readonly PaletteItem[], text: string, most = PER_GROUP): PaletteItem[] =>
  items.filter(({ label }) => has(label, text)).slice(0, most)

interface PaletteContent {
  groups: PaletteGroup[]
  filters: PaletteResults['filters']
  /** The selection that the first commands act on: "3 tasks". */
  selection: string | undefined
}

/** Returns the groups to show, best first. `apart`: leave out the commands for the selection. */
export function usePaletteContent(typed: string, { apart }: { apart: boolean }): PaletteContent {
  const text = typed.trim().toLowerCase()
  const found = usePaletteResults(typed)
  const { selection, commands } = usePageCommands(apart)
  const goes = usePageLinks()
  const general = useThemesAndTeams()
  const [tasks, ...others] = found.groups
  const jump = jumpToTask(typed.trim(), tasks?.items ?? [])
  const groups: PaletteGroup[] = [
    ...commands.map(({ value, items }) => ({ value, items: among(items, text, text ? PER_GROUP : 12) })),
    { value: words.palette.go, items: among(goes, text, text ? PER_GROUP : 8) },
    { value: words.palette.tasks, items: [...jump, ...(tasks?.items ?? [])] },
    ...others,
    { value: words.palette.general, items: text ? among(general, text) : [] },
    { value: words.palette.search, items: text ? searchFor(typed.trim()) : [] },
  ]
  return { groups: groups.filter(({ items }) => items.length > 0), filters: found.filters, selection }
}

/** `LAN-42` opens the task before the server has responded. */
const jumpToTask = (typed: string, found: readonly PaletteItem[]): PaletteItem[] => {
  const key = typed.toUpperCase()
  return KEY.test(typed) && !found.some((item) => item.key === key)
    ? [{ id: `jump ${key}`, label: words.palette.open(key), icon: CornerDownRight, to: `/tasks/${key}` }]
    : []
}

/** Without words, there is no meaning to compare. */
const searchFor = (q: string): PaletteItem[] => {
  const to = `/search?q=${encodeURIComponent(q)}`
  return [
    { id: 'search', label: words.palette.searchFor(q), icon: Search, to },
    ...(parseSearchQuery(q).words
      ? [{ id: 'meaning', label: words.palette.byMeaning(q), icon: Search, to: `${to}&by=meaning` }]
      : []),
  ]
}

/** The commands of the page, grouped by the records that they act on: the selection first, the page itself last. */
function usePageCommands(apart: boolean): { selection: string | undefined; commands: PaletteGroup[] } {
  const working = useActiveCommands().filter(({ label, keysOnly }) => label && !keysOnly)
  const selection = working.find(({ scope }) => scope === 'selection')?.on
  const shown = working.filter(({ scope }) => !(apart && scope === 'selection'))
  const subjects = [...new Set([selection, ...shown.map(({ on }) => on)])].filter((on) => on !== undefined)
  const commands = [...subjects, undefined].map((subject) => ({
    value: subject ? words.palette.doWith(subject) : words.palette.act,
    items: shown.filter(({ on }) => on === subject).map(toItem),
  }))
  return { selection, commands }
}
const toItem = ({ label = '', keys, run }: Command): PaletteItem => ({ id: `do ${label}`, label, icon: Zap, keys, run })

/** Pages, pages of this project, and projects. */
function usePageLinks(): PaletteItem[] {
  const { team } = useRouteContext({ from: '/inside' })
  const { destinations } = useDestinations()
  const slug = useProjectSlug()
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  return [
    ...destinations.map(({ to, search, label, icon, key }) => ({
      id: to,
      label,
      icon,
      to: search ? `${to}?${new URLSearchParams(search)}` : to,
      ...(key && { keys: `g ${key}` }),
    })),
    ...(slug
      ? projectViews.map(({ path, label, icon }) => ({
          id: `view ${path}`,
          label,
          icon,
          to: projectAddress(slug, path),
        }))
      : []),
    ...projects.map(({ id, slug, name, key, color }) => ({
      id,
      label: name,
      color,
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
