import { invalid } from '../../../src/errors.ts'
import { withQuery } from '../../api/reference.ts'
import type { Fields } from '../mutation.ts'
import { asList, asText } from './copy-view.ts'

/** A request to the web API that does what a tool does. */
interface ApiRequest {
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
  ask(args: Fields, project: string | undefined): ApiRequest
  /** Returns the part of the response that an agent needs. */
  show?(answer: Fields): unknown
}

const recordPath = (path: string, ref: unknown): string => `${path}/${encodeURIComponent(asText(ref))}`
const withoutFields = ({ ...fields }: Fields, ...names: string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => !names.includes(name) && value !== undefined))

function requireProject(project: unknown): string {
  if (typeof project === 'string' && project !== '') return project
  throw invalid('/project', 'Send project: the token has no default project.', 'required')
}

const LISTED = 20
const listRequest =
  (path: string, rename: (args: Fields) => Fields) =>
  (args: Fields, project: string | undefined): ApiRequest => ({
    method: 'GET',
    path: withQuery(path, {
      limit: args.limit ?? LISTED,
      cursor: args.cursor,
      search: args.query,
      projectId: args.project === 'all' ? undefined : (args.project ?? project),
      ...rename(args),
    }),
  })
const tagFilter = (args: Fields) => ({ tag: asList(args.tags)[0] })

const pickNamed =
  (...names: string[]) =>
  (answer: Fields): Fields =>
    Object.fromEntries(['id', 'key', 'slug', ...names].flatMap((name) => (answer[name] ? [[name, answer[name]]] : [])))

/** Turns the arguments of one task into what the API takes. */
const taskBody = (args: Fields): Fields => {
  const { tags, story, discoveredFrom: _, ...rest } = args
  return withoutFields(
    { ...rest, labels: tags, storyId: story },
    'project',
    'parent',
    'task',
    'tasks',
    'expectedVersion',
  )
}

function createTasks(args: Fields, project: string | undefined): ApiRequest {
  const shared = withoutFields(args, 'tasks', 'title')
  const each = args.tasks === undefined ? [{ title: args.title }] : asList<Fields>(args.tasks)
  const tasks = each.map((one) => taskBody({ ...shared, ...one }))
  const path = `${recordPath('/api/projects', requireProject(args.project ?? project))}/tasks/batch`
  return { method: 'POST', path, body: withoutFields({ parent: args.parent, tasks }) }
}

function storeMemories(args: Fields, project: string | undefined): ApiRequest {
  const { memories, content, embedding: _, ...shared } = args
  const each = content === undefined ? asList<Fields>(memories) : [{ content }]
  const about = (one: Fields): Fields => {
    const { project: named, embedding: __, ...rest } = { ...shared, ...one }
    return rest.scope === undefined ? { ...rest, scope: 'project', scopeId: rest.scopeId ?? named ?? project } : rest
  }
  return { method: 'POST', path: '/api/memories/batch', body: { memories: each.map(about) } }
}

function logDecision(args: Fields, project: string | undefined): ApiRequest {
  if (args.outcome !== undefined && args.comment === undefined)
    return { method: 'PATCH', path: recordPath('/api/decisions', args.decision), body: { outcome: args.outcome } }
  if (args.comment !== undefined)
    return {
      method: 'POST',
      path: `${recordPath('/api/decisions', args.decision)}/comments`,
      body: { body: args.comment },
    }
  const projectId = args.project ?? project
  return {
    method: 'POST',
    path: '/api/decisions',
    body: withoutFields({ ...args, projectId }, 'project', 'idempotencyKey'),
  }
}

/** The tools that work with the copy. Claims, and everything that needs other people, are not among them. */
export const offlineTools: Readonly<Record<string, OfflineTool>> = {
  create_task: {
    toolset: 'tasks',
    scope: 'tasks:write',
    ask: createTasks,
    show: ({ items }) => ({ items: asList<Fields>(items).map(pickNamed('title')) }),
  },
  list_tasks: {
    toolset: 'tasks',
    scope: 'tasks:read',
    ask: listRequest('/api/tasks', ({ status, assignee, ready, tags }) => ({
      status,
      assignee,
      ready,
      label: asList(tags)[0],
    })),
    show: ({ items, ...rest }) => ({
      ...rest,
      items: asList<Fields>(items).map(pickNamed('title', 'status', 'priority')),
    }),
  },
  get_task: {
    toolset: 'tasks',
    scope: 'tasks:read',
    ask: (args) => ({ method: 'GET', path: recordPath('/api/tasks', args.task) }),
  },
  update_task: {
    toolset: 'tasks',
    scope: 'tasks:write',
    ask: (args) => ({
      method: 'PATCH',
      path: recordPath('/api/tasks', args.task),
      body: withoutFields(taskBody(args), 'idempotencyKey'),
    }),
    show: pickNamed('title', 'status'),
  },
  complete_task: {
    toolset: 'tasks',
    scope: 'tasks:write',
    ask: ({ task: one, tasks, session: _, ...how }) => ({
      method: 'POST',
      path: '/api/tasks/complete',
      body: withoutFields({ ...how, tasks: tasks ?? [one] }, 'idempotencyKey'),
    }),
    show: ({ items }) => ({ items: asList<Fields>(items).map(pickNamed('status', 'openCriteria')) }),
  },
  delete_task: {
    toolset: 'tasks',
    scope: 'tasks:write',
    ask: (args) => ({ method: 'DELETE', path: recordPath('/api/tasks', args.task) }),
  },
  create_project: {
    toolset: 'projects',
    scope: 'projects:write',
    ask: (args) => ({ method: 'POST', path: '/api/projects', body: withoutFields(args, 'idempotencyKey') }),
    show: pickNamed('name'),
  },
  list_projects: {
    toolset: 'projects',
    scope: 'projects:read',
    ask: (args) => listRequest('/api/projects', ({ status }) => ({ status }))(args, undefined),
    show: ({ items, ...rest }) => ({ ...rest, items: asList<Fields>(items).map(pickNamed('name', 'description')) }),
  },
  get_project: {
    toolset: 'projects',
    scope: 'projects:read',
    ask: (args) => ({ method: 'GET', path: recordPath('/api/projects', args.project) }),
  },
  update_project: {
    toolset: 'projects',
    scope: 'projects:write',
    ask: (args) => ({
      method: 'PUT',
      path: recordPath('/api/projects', args.project),
      body: withoutFields(args, 'project', 'expectedVersion', 'idempotencyKey'),
    }),
    show: pickNamed('name'),
  },
  create_note: {
    toolset: 'notes',
    scope: 'notes:write',
    ask: (args, project) => ({
      method: 'POST',
      path: '/api/notes',
      body: withoutFields({ ...args, projectId: args.project ?? project }, 'project', 'idempotencyKey'),
    }),
    show: pickNamed('title'),
  },
  list_notes: {
    toolset: 'notes',
    scope: 'notes:read',
    ask: listRequest('/api/notes', (args) => ({ ...tagFilter(args), since: args.since, until: args.until })),
  },
  get_note: {
    toolset: 'notes',
    scope: 'notes:read',
    ask: (args) => ({ method: 'GET', path: recordPath('/api/notes', args.note) }),
  },
  update_note: {
    toolset: 'notes',
    scope: 'notes:write',
    ask: (args) => ({
      method: 'PUT',
      path: recordPath('/api/notes', args.note),
      body: withoutFields(args, 'note', 'expectedVersion', 'idempotencyKey'),
    }),
    show: pickNamed('title'),
  },
  delete_note: {
    toolset: 'notes',
    scope: 'notes:write',
    ask: (args) => ({ method: 'DELETE', path: recordPath('/api/notes', args.note) }),
  },
  log_decision: {
    toolset: 'decisions',
    scope: 'decisions:write',
    ask: logDecision,
    show: pickNamed('title', 'status'),
  },
  store_memory: {
    toolset: 'memory',
    scope: 'memories:write',
    ask: storeMemories,
    show: ({ items }) => ({ items: asList<Fields>(items).map(pickNamed('title')) }),
  },
  search_memory: {
    toolset: 'memory',
    scope: 'memories:read',
    also: ({ kinds }) => asList(kinds).map((kind) => `${kind === 'memory' ? 'memorie' : kind}s:read`),
    ask: ({ budgetTokens: _, project: named, ...args }, project) => ({
      method: 'POST',
      path: '/api/memories/search',
      body: withoutFields({
        ...args,
        ...((named ?? project) && !args.scope && { scope: 'project', scopeId: named ?? project }),
      }),
    }),
  },
}
