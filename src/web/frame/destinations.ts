/**
 * THE LIST of what the sidebar, the tab bar, the palette and the `g` keys lead to. An entry is shown once `paths.ts`
 * has its address, so adding a page there is enough for those below; a new kind of page adds its line here.
 */
import {
  Activity,
  AudioLines,
  BookOpenText,
  Brain,
  Cable,
  ChartNoAxesColumn,
  CircleUserRound,
  FolderKanban,
  GraduationCap,
  History,
  House,
  Inbox,
  KeyRound,
  Library,
  type LucideIcon,
  MessageSquareWarning,
  NotebookText,
  Scale,
  Settings,
  ShieldCheck,
  Sparkles,
  SquareKanban,
  SquareTerminal,
  Trash2,
  Users,
} from 'lucide-react'
import { myTasksAddress, paths } from '../../paths.ts'
import { kindTitle, words } from '../words.ts'

/** `bar`: in the top bar; `team` and `account`: in the menus there. */
type DestinationGroup = 'top' | 'bar' | 'projects' | SectionName | 'team' | 'account'

export interface Destination {
  to: string
  search?: Record<string, string>
  label: string
  icon: LucideIcon
  group: DestinationGroup
  /** Second key after `g`. */
  key?: string
  /** Only for administrators of the instance. */
  admin?: true
}

const all: readonly Destination[] = [
  { to: '/', label: words.places.home, icon: House, group: 'top', key: 'h' },
  { to: '/inbox', label: words.places.inbox, icon: Inbox, group: 'top', key: 'i' },
  { to: '/now', label: words.places.now, icon: AudioLines, group: 'top', key: 'n' },
  { ...myTasksAddress, label: words.places.myTasks, icon: CircleUserRound, group: 'top' },
  { to: '/assistant', label: words.places.assistant, icon: Sparkles, group: 'bar' },
  { to: '/projects', label: words.places.projects, icon: FolderKanban, group: 'projects', key: 'p' },
  { to: '/notes', label: kindTitle('note'), icon: NotebookText, group: 'knowledge' },
  { to: '/decisions', label: kindTitle('decision'), icon: Scale, group: 'knowledge', key: 'd' },
  { to: '/specs', label: kindTitle('spec'), icon: BookOpenText, group: 'knowledge' },
  { to: '/memories', label: words.places.memories, icon: Brain, group: 'knowledge', key: 'm' },
  { to: '/skills', label: kindTitle('skill'), icon: GraduationCap, group: 'knowledge' },
  { to: '/agents', label: kindTitle('agent'), icon: SquareTerminal, group: 'agents' },
  { to: '/sessions', label: kindTitle('session'), icon: History, group: 'agents', key: 's' },
  { to: '/activity', label: words.places.activity, icon: Activity, group: 'agents', key: 'a' },
  { to: '/tunnels', label: words.places.tunnels, icon: Cable, group: 'agents' },
  { to: '/team/analytics', label: words.sections.analytics, icon: ChartNoAxesColumn, group: 'analytics' },
  { to: '/team', label: words.places.team, icon: Users, group: 'team' },
  { to: '/tokens', label: words.places.tokens, icon: KeyRound, group: 'team', key: 'k' },
  { to: '/trash', label: words.places.trash, icon: Trash2, group: 'team' },
  { to: '/issues', label: words.places.issues, icon: MessageSquareWarning, group: 'team' },
  { to: '/admin', label: words.places.admin, icon: ShieldCheck, group: 'team', admin: true },
  { to: '/settings', label: words.places.settings, icon: Settings, group: 'account' },
]

/** One entry of the sidebar for several pages; a switch on top of them leads from one to the other. */
export const sections = [
  { name: 'knowledge', label: words.sections.knowledge, icon: Library },
  { name: 'agents', label: words.sections.agents, icon: SquareTerminal },
  { name: 'analytics', label: words.sections.analytics, icon: ChartNoAxesColumn },
] as const
type SectionName = 'knowledge' | 'agents' | 'analytics'

/** The pages of one project. */
interface ProjectView {
  /** What follows the project's own address. */
  path: '' | '/tasks' | '/plan' | '/features'
  label: string
  icon: LucideIcon
  key?: string
}

export const projectViews: readonly ProjectView[] = [
  { path: '', label: words.views.overview, icon: FolderKanban },
  { path: '/tasks', label: words.views.tasks, icon: SquareKanban, key: 't' },
  { path: '/plan', label: words.views.plan, icon: NotebookText },
  { path: '/features', label: words.views.features, icon: GraduationCap, key: 'f' },
]

/** Returns the destinations that a user may go to. */
export const destinationsFor = (role: 'user' | 'admin'): Destination[] =>
  all.filter(({ to, admin }) => (paths as readonly string[]).includes(to) && (!admin || role === 'admin'))

/** Returns the address of a page of a project, by default of its overview. */
export const projectAddress = (slug: string, path: ProjectView['path'] = ''): string =>
  `/projects/${encodeURIComponent(slug)}${path}`

/** Returns the destination that an address belongs to: `/notes/1` to `/notes`. */
export const destinationOf = (pathname: string, among: readonly Destination[]): Destination | undefined =>
  among.find(({ to }) => pathname === to || (to !== '/' && pathname.startsWith(`${to}/`)))
