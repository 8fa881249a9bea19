import { invalid } from '../../../src/errors.ts'
import { query } from '../../api/reference.ts'
import type { Fields } from '../mutation.ts'
import { list, text } from './world.ts'

/** A request to the web API that does what a tool does. */
interface Asked {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  path: string
  body?: Fields
}

interface OfflineTool {
  /** The toolset that the tool belongs to. */
  toolset: string
  /** The scope that the token needs. */
  scope: string
  /** More scopes that these arguments need. */
  also?(args: Fields): string[]
  /** Turns arguments into a request. `project` is the default project of the token. */
  ask(args: Fields, project: string | undefined): Asked
  /** Returns the part of the response that an agent needs. */
  show?(answer: Fields): unknown
}

const at = (path: string, ref: unknown): string => `${path}/${encodeURIComponent(text(ref))}`
const without = ({ ...fields }: Fields, ...names: string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => !names.includes(name) && value !== undefined))

function needed(project: unknown): string {
  if (typeof project === 'string' && project !== '') return project
  throw invalid('/project', 'Send project: the token has no default project.', 'required')
}

const LISTED = 20
const listing =
  (path: string, rename: (args: Fields) => Fields) =>
  (args: Fields, project: string | undefined): Asked => ({
    method: 'GET',
    path: query(path, {
      limit: args.limit ?? LISTED,
      cursor: args.cursor,
      search: args.query,
      projectId: args.project === 'all' ? undefined : (args.project ?? project),
      ...rename(args),
    }),
  })
const tag = (args: Fields) => ({ tag: list(args.tags)[0] })

const named =
  (...names: string[]) =>
  (answer: Fields): Fields =>
    Object.fromEntries(['id', 'key', 'slug', ...names].flatMap((name) => (answer[name] ? [[name, answer[name]]] : [])))

/** Turns the arguments of one task into what the API takes. */
const task = (args: Fields): Fields => {
  const { tags, story, discoveredFrom: _, ...rest } = args
  return without({ ...rest, labels: tags, storyId: story }, 'project', 'parent', 'task', 'tasks', 'expectedVersion')
}

function createTasks(args: Fields, project: string | undefined): Asked {
  const shared = without(args, 'tasks', 'title')
  const each = args.tasks === undefined ? [{ title: args.title }] : list<Fields>(args.tasks)
  const tasks = each.map((one) => task({ ...shared, ...one }))
  const path = `${at('/api/projects', needed(args.project ?? project))}/tasks/batch`
  return { method: 'POST', path, body: without({ parent: args.parent, tasks }) }
}

function storeMemories(args: Fields, project: string | undefined): Asked {
  const { memories, content, embedding: _, ...shared } = args
  const each = content === undefined ? list<Fields>(memories) : [{ content }]
  const about = (one: Fields): Fields => {
    const { project: named, embedding: __, ...rest } = { ...shared, ...one }
    return rest.scope === undefined ? { ...rest, scope: 'project', scopeId: rest.scopeId ?? named ?? project } : rest
  }
  return { method: 'POST', path: '/api/memories/batch', body: { memories: each.map(about) } }
}

function logDecision(args: Fields, project: string | undefined): Asked {
  if (args.outcome !== undefined && args.comment === undefined)
    return { method: 'PATCH', path: at('/api/decisions', args.decision), body: { outcome: args.outcome } }
  if (args.comment !== undefined)
    return { method: 'POST', path: `${at('/api/decisions', args.decision)}/comments`, body: { body: args.comment } }
  const projectId = args.project ?? project
  return { method: 'POST', path: '/api/decisions', body: without({ ...args, projectId }, 'project', 'idempotencyKey') }
}

/** The tools that work with the copy. Claims, and everything that needs other people, are not among them. */
export const offlineTools: Readonly<Record<string, OfflineTool>> = {
  create_task: {
    toolset: 'tasks',
    scope: 'tasks:write',
    ask: createTasks,
    show: ({ items }) => ({ items: list<Fields>(items).map(named('title')) }),
  },
  list_tasks: {
    toolset: 'tasks',
    scope: 'tasks:read',
    ask: listing('/api/tasks', ({ status, assignee, ready, tags }) => ({
      status,
      assignee,
      ready,
      label: list(tags)[0],
    })),
    show: ({ items, ...rest }) => ({ ...rest, items: list<Fields>(items).map(named('title', 'status', 'priority')) }),
  },
  get_task: {
    toolset: 'tasks',
    scope: 'tasks:read',
    ask: (args) => ({ method: 'GET', path: at('/api/tasks', args.task) }),
  },
  update_task: {
    toolset: 'tasks',
    scope: 'tasks:write',
    ask: (args) => ({
      method: 'PATCH',
      path: at('/api/tasks', args.task),
      body: without(task(args), 'idempotencyKey'),
    }),
    show: named('title', 'status'),
  },
  complete_task: {
    toolset: 'tasks',
    scope: 'tasks:write',
    ask: ({ task: one, tasks, session: _, ...how }) => ({
      method: 'POST',
      path: '/api/tasks/complete',
      body: without({ ...how, tasks: tasks ?? [one] }, 'idempotencyKey'),
    }),
    show: ({ items }) => ({ items: list<Fields>(items).map(named('status', 'openCriteria')) }),
  },
  delete_task: {
    toolset: 'tasks',
    scope: 'tasks:write',
    ask: (args) => ({ method: 'DELETE', path: at('/api/tasks', args.task) }),
  },
  create_project: {
    toolset: 'projects',
    scope: 'projects:write',
    ask: (args) => ({ method: 'POST', path: '/api/projects', body: without(args, 'idempotencyKey') }),
    show: named('name'),
  },
  list_projects: {
    toolset: 'projects',
    scope: 'projects:read',
    ask: (args) => listing('/api/projects', ({ status }) => ({ status }))(args, undefined),
    show: ({ items, ...rest }) => ({ ...rest, items: list<Fields>(items).map(named('name', 'description')) }),
  },
  get_project: {
    toolset: 'projects',
    scope: 'projects:read',
    ask: (args) => ({ method: 'GET', path: at('/api/projects', args.project) }),
  },
  update_project: {
    toolset: 'projects',
    scope: 'projects:write',
    ask: (args) => ({
      method: 'PUT',
      path: at('/api/projects', args.project),
      body: without(args, 'project', 'expectedVersion', 'idempotencyKey'),
    }),
    show: named('name'),
  },
  create_note: {
    toolset: 'notes',
    scope: 'notes:write',
    ask: (args, project) => ({
      method: 'POST',
      path: '/api/notes',
      body: without({ ...args, projectId: args.project ?? project }, 'project', 'idempotencyKey'),
    }),
    show: named('title'),
  },
  list_notes: {
    toolset: 'notes',
    scope: 'notes:read',
    ask: listing('/api/notes', (args) => ({ ...tag(args), since: args.since, until: args.until })),
  },
  get_note: {
    toolset: 'notes',
    scope: 'notes:read',
    ask: (args) => ({ method: 'GET', path: at('/api/notes', args.note) }),
  },
  update_note: {
    toolset: 'notes',
    scope: 'notes:write',
    ask: (args) => ({
      method: 'PUT',
      path: at('/api/notes', args.note),
      body: without(args, 'note', 'expectedVersion', 'idempotencyKey'),
    }),
    show: named('title'),
  },
  delete_note: {
    toolset: 'notes',
    scope: 'notes:write',
    ask: (args) => ({ method: 'DELETE', path: at('/api/notes', args.note) }),
  },
  log_decision: { toolset: 'decisions', scope: 'decisions:write', ask: logDecision, show: named('title', 'status') },
  store_memory: {
    toolset: 'memory',
    scope: 'memories:write',
    ask: storeMemories,
    show: ({ items }) => ({ items: list<Fields>(items).map(named('title')) }),
  },
  search_memory: {
    toolset: 'memory',
    scope: 'memories:read',
    also: ({ kinds }) => list(kinds).map((kind) => `${kind === 'memory' ? 'memorie' : kind}s:read`),
    ask: ({ budgetTokens: _, project: named, ...args }, project) => ({
      method: 'POST',
      path: '/api/memories/search',
      body: without({
        ...args,
        ...((named ?? project) && !args.scope && { scope: 'project', scopeId: named ?? project }),
      }),
    }),
  },
}
