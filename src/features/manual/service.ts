import { read } from '../../action.ts'
import { anyone } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import access from './pages/begin/access.md' with { type: 'text' }
import cli from './pages/begin/cli.md' with { type: 'text' }
import dashboard from './pages/begin/dashboard.md' with { type: 'text' }
import offline from './pages/begin/offline.md' with { type: 'text' }
import start from './pages/begin/start.md' with { type: 'text' }
import activity from './pages/knowledge/activity.md' with { type: 'text' }
import assistant from './pages/knowledge/assistant.md' with { type: 'text' }
import decisions from './pages/knowledge/decisions.md' with { type: 'text' }
import knowledge from './pages/knowledge/knowledge.md' with { type: 'text' }
import links from './pages/knowledge/links.md' with { type: 'text' }
import memory from './pages/knowledge/memory.md' with { type: 'text' }
import notes from './pages/knowledge/notes.md' with { type: 'text' }
import sessions from './pages/knowledge/sessions.md' with { type: 'text' }
import agents from './pages/people/agents.md' with { type: 'text' }
import notifications from './pages/people/notifications.md' with { type: 'text' }
import repositories from './pages/people/repositories.md' with { type: 'text' }
import skills from './pages/people/skills.md' with { type: 'text' }
import teams from './pages/people/teams.md' with { type: 'text' }
import tokens from './pages/people/tokens.md' with { type: 'text' }
import tunnels from './pages/people/tunnels.md' with { type: 'text' }
import api from './pages/run/api.md' with { type: 'text' }
import live from './pages/run/live.md' with { type: 'text' }
import machines from './pages/run/machines.md' with { type: 'text' }
import mcp from './pages/run/mcp.md' with { type: 'text' }
import operating from './pages/run/operating.md' with { type: 'text' }
import site from './pages/run/site.md' with { type: 'text' }
import sync from './pages/run/sync.md' with { type: 'text' }
import features from './pages/work/features.md' with { type: 'text' }
import planning from './pages/work/planning.md' with { type: 'text' }
import plans from './pages/work/plans.md' with { type: 'text' }
import projects from './pages/work/projects.md' with { type: 'text' }
import specs from './pages/work/specs.md' with { type: 'text' }
import tasks from './pages/work/tasks.md' with { type: 'text' }
import type { ManualHits, ManualItem, ManualList, ManualPage, ManualSearch } from './schema.ts'
import { searchIn, sectionsOf } from './sections.ts'

/** Returns a page of the manual, which is part of the binary. Its first heading is its title. */
const page = (group: string, id: string, content: string, about: string): ManualPage => ({
  id,
  title: /^# (.+)$/m.exec(content)?.[1] ?? id,
  group,
  about,
  content,
})

/** In reading order. */
const pages = [
  page('Begin', 'start', start, 'Start the server, sign in, connect an agent'),
  page('Begin', 'dashboard', dashboard, 'Pages, favourites and keyboard shortcuts'),
  page('Begin', 'cli', cli, 'Everyday commands, and those that run a server'),
  page('Begin', 'offline', offline, 'A copy on your computer that works without the server'),
  page('Begin', 'access', access, 'Sign-in, roles, credentials, administrators'),
  page('Work', 'planning', planning, 'How projects, plans and tasks fit together'),
  page('Work', 'projects', projects, 'Keys, visibility, sharing, the trash'),
  page('Work', 'tasks', tasks, 'Claims, dependencies, criteria, comments'),
  page('Work', 'plans', plans, 'Epics, stories and tasks created in one call'),
  page('Work', 'features', features, 'Work that passes gates with evidence'),
  page('Work', 'specs', specs, 'What is to be built, in versions'),
  page('Knowledge', 'knowledge', knowledge, 'Notes, decisions, specs, skills and links'),
  page('Knowledge', 'notes', notes, 'Markdown that links to everything'),
  page('Knowledge', 'decisions', decisions, 'What was decided, and why'),
  page('Knowledge', 'memory', memory, 'Short facts found by meaning, and search'),
  page('Knowledge', 'assistant', assistant, 'Answers from the records that you can read'),
  page('Knowledge', 'sessions', sessions, 'Work that survives a lost context'),
  page('Knowledge', 'activity', activity, 'What happened, and who did it'),
  page('Knowledge', 'links', links, 'How records refer to each other'),
  page('People and agents', 'teams', teams, 'Members, invites and shared workspaces'),
  page('People and agents', 'agents', agents, 'Workers with a role, a persona and skills'),
  page('People and agents', 'skills', skills, 'Instructions for a kind of work'),
  page('People and agents', 'tokens', tokens, 'Keys and tokens for programs and agents'),
  page('People and agents', 'notifications', notifications, 'Your inbox, questions, and other channels'),
  page('People and agents', 'repositories', repositories, 'Code hosts, pull requests, AGENTS.md'),
  page('People and agents', 'tunnels', tunnels, 'Reach services and commands on your machines'),
  page('Connect and run', 'mcp', mcp, 'Connect programs that speak MCP'),
  page('Connect and run', 'api', api, 'Rules that hold for every request'),
  page('Connect and run', 'live', live, 'Receive changes as they happen'),
  page('Connect and run', 'sync', sync, 'How programs keep a copy and send changes'),
  page('Connect and run', 'operating', operating, 'Settings, backups, upgrades'),
  page('Connect and run', 'machines', machines, 'Several instances, and what happens when one fails'),
  page('Connect and run', 'site', site, 'Pages, a blog and settings of the server'),
]
const itemOf = ({ content: _, ...item }: ManualPage): ManualItem => item
/** Made at the first search. */
let sections: ReturnType<typeof sectionsOf> | undefined

export const list = read(
  'manual.list',
  anyone,
  async (_ctx, _: Record<string, never>): Promise<ManualList> => ({ items: pages.map(itemOf), nextCursor: null }),
)

export const search = read('manual.search', anyone, async (_ctx, { q }: ManualSearch): Promise<ManualHits> => {
  sections ??= pages.flatMap(sectionsOf)
  return { items: searchIn(sections, q), nextCursor: null }
})

export const get = read('manual.get', anyone, async (_ctx, { id }: { id: string }): Promise<ManualPage> => {
  const found = pages.find((p) => p.id === id)
  if (!found) throw notFound('manual_page', id)
  return found
})
