import { read } from '../../action.ts'
import { anyone } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import access from './pages/access.md' with { type: 'text' }
import activity from './pages/activity.md' with { type: 'text' }
import agents from './pages/agents.md' with { type: 'text' }
import api from './pages/api.md' with { type: 'text' }
import assistant from './pages/assistant.md' with { type: 'text' }
import cli from './pages/cli.md' with { type: 'text' }
import dashboard from './pages/dashboard.md' with { type: 'text' }
import decisions from './pages/decisions.md' with { type: 'text' }
import features from './pages/features.md' with { type: 'text' }
import knowledge from './pages/knowledge.md' with { type: 'text' }
import links from './pages/links.md' with { type: 'text' }
import live from './pages/live.md' with { type: 'text' }
import machines from './pages/machines.md' with { type: 'text' }
import mcp from './pages/mcp.md' with { type: 'text' }
import memory from './pages/memory.md' with { type: 'text' }
import notes from './pages/notes.md' with { type: 'text' }
import notifications from './pages/notifications.md' with { type: 'text' }
import offline from './pages/offline.md' with { type: 'text' }
import operating from './pages/operating.md' with { type: 'text' }
import planning from './pages/planning.md' with { type: 'text' }
import plans from './pages/plans.md' with { type: 'text' }
import projects from './pages/projects.md' with { type: 'text' }
import repositories from './pages/repositories.md' with { type: 'text' }
import sessions from './pages/sessions.md' with { type: 'text' }
import site from './pages/site.md' with { type: 'text' }
import skills from './pages/skills.md' with { type: 'text' }
import specs from './pages/specs.md' with { type: 'text' }
import start from './pages/start.md' with { type: 'text' }
import sync from './pages/sync.md' with { type: 'text' }
import tasks from './pages/tasks.md' with { type: 'text' }
import teams from './pages/teams.md' with { type: 'text' }
import tokens from './pages/tokens.md' with { type: 'text' }
import tunnels from './pages/tunnels.md' with { type: 'text' }
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
  page('Begin', 'dashboard', dashboard, 'The pages in the browser, favourites, keys'),
  page('Begin', 'cli', cli, 'Everyday commands, and those that run a server'),
  page('Begin', 'offline', offline, 'A copy on your computer, and what it can do'),
  page('Begin', 'access', access, 'Signing in, roles, credentials, administrators'),
  page('Work', 'planning', planning, 'How projects, plans and tasks fit together'),
  page('Work', 'projects', projects, 'What holds all work towards one aim'),
  page('Work', 'tasks', tasks, 'Claims, dependencies, criteria, comments'),
  page('Work', 'plans', plans, 'Epics, stories and tasks created in one call'),
  page('Work', 'features', features, 'Work that passes gates with evidence'),
  page('Work', 'specs', specs, 'What is to be built, in versions'),
  page('Knowledge', 'knowledge', knowledge, 'Notes, decisions, specs, skills and links'),
  page('Knowledge', 'notes', notes, 'Markdown that links to everything'),
  page('Knowledge', 'decisions', decisions, 'What was decided, and why'),
  page('Knowledge', 'memory', memory, 'Short facts found by meaning, and search'),
  page('Knowledge', 'assistant', assistant, 'Questions answered from what you may read'),
  page('Knowledge', 'sessions', sessions, 'Work that survives a lost context'),
  page('Knowledge', 'activity', activity, 'What happened, and who did it'),
  page('Knowledge', 'links', links, 'How records refer to each other'),
  page('People and agents', 'teams', teams, 'Members, invites and shared workspaces'),
  page('People and agents', 'agents', agents, 'Roles, personas and what they know'),
  page('People and agents', 'skills', skills, 'Instructions for a kind of work'),
  page('People and agents', 'tokens', tokens, 'Keys and tokens for programs and agents'),
  page('People and agents', 'notifications', notifications, 'What waits for you, and where it is sent'),
  page('People and agents', 'repositories', repositories, 'Code hosts, pull requests, AGENTS.md'),
  page('People and agents', 'tunnels', tunnels, 'Open services on a machine of your team'),
  page('Connect and run', 'mcp', mcp, 'Connect programs that speak MCP'),
  page('Connect and run', 'api', api, 'Rules that hold for every request'),
  page('Connect and run', 'live', live, 'Hear of changes as they happen'),
  page('Connect and run', 'sync', sync, 'How programs keep a copy and send changes'),
  page('Connect and run', 'operating', operating, 'Settings, backups, upgrades'),
  page(
    'Connect and run',
    'machines',
    machines,
    'Run several instances behind a proxy, and what happens when one fails',
  ),
  page('Connect and run', 'site', site, 'Pages, a blog and settings of the instance'),
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
