import { eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import { and, or } from '../db/conditions.ts'
import { events } from './table.ts'

/** Events as the people see them to whom their records belong. */
export const feedColumns = {
  id: events.id,
  type: events.type,
  at: events.at,
  actorKind: events.actorKind,
  actorId: events.actorId,
  actorName: events.actorName,
  data: events.data,
}

/** Not what is only for the audit: there the event is called like the action. */
export const isTold = ne(events.type, events.action)

/** The same, without what was meant for one other person. */
export const isToldTo = (userId: string): SQL => and(isTold, or(isNull(events.userId), eq(events.userId, userId)))

/** About who may come in, and not about work: accounts, credentials, members, settings. */
const ofAccess =
  '^(user|auth|session[.](revoked|confirmed)|api_key|mcp_token|passkey|connected_account|device|member|invite|organization|workspace|integration|notification|announcement|issue|upload)([.]|$)'
const access = new RegExp(ofAccess)

/** What was done with records; of one type, if one is asked for: what was logged by hand has a type without a dot, and an index. */
export function isWork(type?: string): SQL {
  if (type === undefined) return sql`${events.type} !~ ${ofAccess}`
  if (access.test(type)) return sql`false`
  return type.includes('.')
    ? eq(events.type, type)
    : sql`${events.action} = 'activities.log' and ${eq(events.type, type)}`
}

interface Row {
  type: string
  actorKind: string
  actorId: string | null
  actorName: string
  data: Record<string, unknown>
}

/** That an administrator acted in somebody's name is for that person and the audit, and `concerns` for open streams. */
export function feedEntry<R extends Row>({
  actorKind,
  actorId,
  actorName,
  data: { impersonatorId: _, concerns: __, ...data },
  ...event
}: R) {
  const type =
    actorKind === 'system' ? ('system' as const) : actorKind === 'agent' ? ('agent' as const) : ('user' as const)
  return { ...event, description: inWords(event.type, data), data, actor: { type, id: actorId, name: actorName } }
}

// ---- in words

type Data = Record<string, unknown>
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const number = (n: unknown, one: string, many: string): string => `${Number(n)} ${n === 1 ? one : many}`

/** Where "changed note How we deploy" says too little, or says it badly. */
const phrases: Record<string, (what: string, data: Data) => string | undefined> = {
  updated: (what, { fields, from, status }) => {
    if (text(from) && text(status) && from !== status) return `moved ${what} from ${from} to ${status}`
    // Whoever sets the status that it has anyway has not changed it.
    const changed = Array.isArray(fields) ? fields.filter((field) => field !== 'status' || from !== status) : []
    return `changed ${changed.length > 0 ? `${changed.join(', ')} of ` : ''}${what}`
  },
  commented: (what) => `commented on ${what}`,
  'task.related': (what, { to }) => `related ${what} to ${to}`,
  'feature.advanced': (what, { from, to }) => `moved ${what} from ${from} to ${to}`,
  'feature.overridden': (what, { from, to, reason }) => `moved ${what} from ${from} to ${to} past its gate: ${reason}`,
  'feature.reviewed': (what, { verdict }) =>
    verdict === 'approved' ? `approved ${what}` : `asked for changes in ${what}`,
  'plan.created': (_, { epics, stories, tasks }) =>
    `planned ${number(epics, 'epic', 'epics')}, ${number(stories, 'story', 'stories')} and ${number(tasks, 'task', 'tasks')}`,
  'memory.cleared': (_, { scope, count }) => `cleared ${number(count, 'memory', 'memories')} of the ${scope}`,
  'repository.failed': (what) => `could not sync ${what}`,
  'session.checkpointed': (what) => `saved where ${what} stands`,
  'link.created': (what, { other }) => `linked ${what} to ${article(String(other))}`,
  'link.deleted': (what, { other }) => `unlinked ${what} from ${article(String(other))}`,
}

const article = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun.replaceAll('_', ' ')}`

/** What somebody did, to follow his name: `completed TUT-4 Lock the data folder`. */
export function inWords(type: string, data: Data): string {
  const [resource = '', verb] = type.split('.')
  // By hand: it was said in words already.
  if (verb === undefined) return text(data.description) ?? type
  const noun = text(data.noun) ?? resource
  const key = text(data.key)
  const name = text(data.title) ?? text(data.name) ?? (Array.isArray(data.goals) ? text(data.goals[0]) : undefined)
  const what = key
    ? [key, name].filter(Boolean).join(' ')
    : name
      ? `${noun.replaceAll('_', ' ')} ${name}`
      : article(noun)
  return (phrases[type] ?? phrases[verb])?.(what, data) ?? `${verb.replaceAll('_', ' ')} ${what}`
}
