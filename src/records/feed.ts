import { eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import { rightsOf } from '../auth/rights.ts'
import { and, or } from '../db/conditions.ts'
import { type ActorRow, actorColumns, type EventActor, groupActor, toPublicActor } from '../events/actor.ts'
import { type EventCatalogue, isHandLogged, isTypePrefix } from '../events/catalogue.ts'
import { events, isLogged } from '../events/table.ts'
import { describeEvent } from '../events/words.ts'
import { kindInfo, recordNames } from './names.ts'
import { mayRead, mayReadEvent, type RecordReader } from './readable.ts'

/** Who reads the feed: a `Ctx` is one. */
type FeedReader = RecordReader & { readonly app: { readonly events: EventCatalogue } }

/** The columns of an event that people with access to its record may see. */
export const feedColumns = {
  id: events.id,
  type: events.type,
  at: events.at,
  ...actorColumns,
  data: events.data,
}

/** The event has one of these types, which must come from the catalogue. */
export const isOneOfTypes = (types: readonly string[]): SQL => sql`${events.type} = any(${typeList(types)}::text[])`
/** Returns an array literal without quoting: types consist of letters, digits, dots, hyphens and underscores. */
const typeList = (types: Iterable<string>): string => `{${[...types].join(',')}}`

/**
 * The caller may receive the event. Leaves out audit entries, whose type is the id of their action, events that no feed
 * shows (`feed: 'none'`), events for another person, and those about kinds that the caller's credential may not read.
 * The query itself must check which records the caller sees.
 */
export function isInFeedOf(ctx: FeedReader): SQL {
  const { user } = rightsOf(ctx.actor)
  const silent = ctx.app.events.types(({ feed }) => feed === 'none')
  return and(
    ne(events.type, events.action),
    sql`${events.type} <> all(${typeList(silent)}::text[])`,
    or(isNull(events.userId), eq(events.userId, user)),
    isReadableEvent(ctx),
  )
}

/** The event is about a kind that the caller's credential may read. Undefined if that is every kind. */
export function isReadableEvent(ctx: FeedReader): SQL | undefined {
  const { app } = ctx
  const readable = app.events.all.filter((event) => mayReadEvent(ctx, event))
  if (readable.length === app.events.all.length) return undefined
  const types = readable.map(({ name }) => name)
  const byHandToo = readable.some(({ byHand }) => byHand)
  const kinds = recordNames.filter((kind) => mayRead(ctx, kind))
  return and(
    // A type that the catalogue does not know may be of any kind, so only callers who may read all kinds see it.
    or(isOneOfTypes(types), byHandToo ? isLogged(events.action) : undefined),
    // Some events name a record of another kind: the event of a link names the record at its first end.
    or(sql`${events.data}->>'noun' is null`, sql`${events.data}->>'noun' = any(${typeList(kinds)}::text[])`),
  )
}

/**
 * The event is work on records, and of this type if one is given; `task.` stands for all types that begin so. Types
 * that the catalogue does not know count as work. For types that were logged by hand, the condition matches their
 * index.
 */
export function isWorkEvent(catalogue: EventCatalogue, type?: string): SQL {
  const others = notWork(catalogue)
  if (type === undefined) return sql`${events.type} <> all(${typeList(others)}::text[])`
  if (isTypePrefix(type))
    return sql`starts_with(${events.type}, ${type}) and ${events.type} <> all(${typeList(others)}::text[])`
  if (others.has(type)) return sql`false`
  return isHandLogged(type) ? and(isLogged(events.action), eq(events.type, type)) : eq(events.type, type)
}

/** Includes their kinds, so that entries logged by hand as `device` stay out of the feed like the events of devices. */
const notWork = (catalogue: EventCatalogue): Set<string> =>
  new Set(catalogue.all.flatMap(({ feed, name, kind }) => (feed === 'work' ? [] : [name, kind])))

/**
 * Returns the address of the record that an event is about, without /api, or null if its kind has no addresses. `name`:
 * the id or the key of the record.
 */
export function recordAddress(catalogue: EventCatalogue, type: string, name: string | null): string | null {
  const kind = recordNames.find((one) => one === catalogue.kindOf(type))
  const path = kind && kindInfo(kind).path
  return path && name ? `${path}/${name}` : null
}

interface Told {
  type: string
  data: Record<string, unknown>
}

/**
 * Leaves out internal data: `impersonatorId` is for that user and the audit, `concerns` for open streams, and `changed`
 * for sync.
 */
export function toEntry<E extends Told & { actor: EventActor }>(
  catalogue: EventCatalogue,
  { data: { impersonatorId: _, concerns: __, changed: ___, ...data }, actor, ...event }: E,
) {
  return { ...event, description: describeEvent(catalogue, event.type, data), data, actor: toPublicActor(actor) }
}

/** Returns a row as an entry of the feed. */
export const toFeedEntry = <R extends Told & ActorRow>(catalogue: EventCatalogue, row: R) =>
  toEntry(catalogue, groupActor(row))
