import type { RecordNames } from '../records/short-names.ts'

export type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Facts about a call that shortening its result needs. */
export interface ResultContext {
  readonly names: RecordNames
  /** The id of the agent or user that calls. */
  readonly me?: string
  /** Leaves out the project of every record: the caller has named it, so that all records have the same. */
  readonly oneProject?: boolean
  /** The project that the token names. */
  readonly project?: string
  /** The id of the author of every item, whom `_source` names. */
  readonly author?: string
  /** The arguments, whose long texts are not sent back. */
  readonly sent?: Fields
}

export const emptyContext: ResultContext = { names: new Map() }

/** Fields that are equal in all records that a token sees, or useful only to the dashboard. */
const unasked = new Set(['organizationId', 'createdById', 'userId', 'workspaceId', 'position', 'storyId', 'can'])
/** JSON of users, in which an empty value may have a meaning. */
const verbatim = new Set(['metadata', 'settings'])
/** Default values. A field with its default is left out. */
const defaults: Record<string, unknown> = {
  priority: 'medium',
  importance: 0.5,
  visibility: 'team',
  scope: 'team',
  gatesPassed: 0,
}
const taskKey = /^[A-Z]{2,6}-\d+$/
const instant = /^(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d(\.\d+)?Z$/
const timed = /(?:^at|At)$/
const LONG = 200

/**
 * Returns a result with the fields that a model needs, since each costs tokens. Fields that are empty, false or at
 * their default are left out, except for empty `items`. A record has one name: its key, else its slug, else its id;
 * other records are referred to by such names too. People and agents are their names, times are exact to a minute.
 */
export function shortenResult(value: unknown, known: ResultContext, depth = 0, within = ''): unknown {
  if (Array.isArray(value))
    return value.map((item) => shortenResult(item, known, depth + 1, value.length > 1 ? within : ''))
  if (typeof value === 'string') return known.names.get(value) ?? value
  if (!isFields(value)) return value
  if (depth > 0 && isUserOrAgent(value)) return value.name
  const keyed = typeof value.key === 'string' && taskKey.test(value.key)
  const remark = typeof value.body === 'string'
  const named = keyed || typeof value.slug === 'string'
  const out: Fields = {}
  for (const name in value) {
    const field = value[name]
    if ((isEmpty(field) && name !== 'items') || unasked.has(name) || defaults[name] === field) continue
    if (verbatim.has(name)) {
      out[name] = field
      continue
    }
    if (name === 'id' && (named || value.deleted === true || remark)) continue
    if (keyed && (name === 'number' || name === 'projectId')) continue
    if (name === 'projectId' && isAsked(value, known)) continue
    if (within === 'items' && name === 'version') continue
    if (depth === 2 && name === 'author' && isAuthor(field, known)) continue
    if ((name === 'scopeId' || name === 'scope') && isOfAsked(value, known)) continue
    if (name === 'createdAt' && value.updatedAt && (depth > 0 || value.updatedAt === field)) continue
    if (typeof field === 'string') {
      if (depth === 0 && field.length > LONG && known.sent?.[name] === field) continue
      out[nameOf(name, field, known)] = known.names.get(field) ?? (timed.test(name) ? toMinute(field) : field)
      continue
    }
    const inner = isMe(name, field, known) ? 'me' : shortenResult(field, known, depth + 1, name)
    if (name === 'items' || !isEmpty(inner)) out[name in renamed ? (renamed[name] as string) : name] = inner
  }
  return out
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0)

export const isUserOrAgent = (value: Fields): value is Fields & { name: string } =>
  typeof value.name === 'string' && (value.type === 'user' || value.type === 'agent' || value.type === 'system')

/** Whether the caller is the assignee or holder of a task. As an author, the caller is named like everyone else. */
const isMe = (name: string, field: unknown, { me }: ResultContext): boolean =>
  (name === 'assignee' || name === 'holder') && me !== undefined && isFields(field) && field.id === me

const isAuthor = (field: unknown, { author }: ResultContext): boolean =>
  author !== undefined && isFields(field) && field.id === author

/** Whether something is about the project that the caller has named, or that the token names. */
const isOfAsked = ({ scope, scopeId }: Fields, { oneProject, project }: ResultContext): boolean =>
  scope === 'project' && (oneProject === true || (scopeId !== undefined && scopeId === project))

const isAsked = ({ projectId, scopeId }: Fields, { oneProject, project }: ResultContext): boolean =>
  oneProject === true || projectId === project || projectId === scopeId

/** Names under which tools take the same records. */
const renamed: Record<string, string> = { taskIds: 'tasks' }
/** Returns `project` for `projectId`, once the value is a name. */
const nameOf = (name: string, value: string, { names }: ResultContext): string =>
  names.has(value) && name.endsWith('Id') && name !== 'scopeId' ? name.slice(0, -2) : name

const toMinute = (text: string): string => {
  const found = instant.exec(text)
  return found ? `${found[1]}Z` : text
}
