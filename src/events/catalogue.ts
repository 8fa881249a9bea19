import { OptionalKind, type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { StaffLine } from './staff-lines.ts'

type Feed = 'work' | 'access' | 'none'

/** The definition of an event: `ctx.emit` takes it, and consumers look it up by the `type` of a stored row. */
export interface EventType<P extends TProperties = TProperties, N extends string = string> {
  /** Stored as the row's `type`: `note.updated`. Never reused with another meaning, because rows stay. */
  readonly name: N
  /** The kind of record that the event is about. */
  readonly kind: string
  /** The scope that reading it needs. Default: that of its kind of record; none if the kind is not one of records. */
  readonly scope?: `${string}:read`
  /** One line of description for the printed catalogue. */
  readonly description: string
  /** The fields of `data`. */
  readonly data: P
  /**
   * `work` is in the activity feed; `access` (accounts, credentials, members, settings) only in the team's own log.
   * `none` is in no feed, counts as no change, and is sent to no client.
   */
  readonly feed: Feed
  /**
   * What must be read again after the event. `rights`: what a credential may do (of the user in `data.userId` or
   * `userId`; without either, of everyone with rights in `organizationId`). `visibility`: who sees the records of a
   * project. `prompts`: the list of prompts.
   */
  readonly changes?: 'rights' | 'visibility' | 'prompts'
  /** The line of the staff, the timeline of work, that shows the event. Without it, the staff does not show it. */
  readonly line?: StaffLine
  /** Sent to open streams. Not set for events that only renew a claim or save a checkpoint. */
  readonly live?: true
  /** The event may have changed other records of its project than the one it names. */
  readonly many?: true
  /** The event created records of its project, whose `updatedAt` is its own time, without an event for each. */
  readonly creates?: true
  /** The record is gone after the event. Its name ends with `.deleted`, which the index `events_deleted` relies on. */
  readonly deletes?: true
  /**
   * It follows from a change that may be in another project: a completed task unblocks others. A credential that is
   * limited to the first project may cause it.
   */
  readonly follows?: true
  /** Stored with a type that the author chose (`deploy`) instead of the event's name. */
  readonly byHand?: true
  /** Describes the event after the actor's name, where "changed note How we deploy" is not enough. */
  readonly words?: EventWords
}

/** `data` may come from any version of this program, so every field may be missing. */
export type EventWords = (what: string, data: Record<string, unknown>) => string | undefined

export type DataOf<P extends TProperties> = Static<TObject<P>>

interface Description<P extends TProperties> {
  kind: string
  scope?: EventType['scope']
  description: string
  data?: P
  feed?: Feed
  changes?: EventType['changes']
  line?: StaffLine
  live?: true
  many?: true
  creates?: true
  deletes?: true
  follows?: true
  byHand?: true
  words?: EventWords
}

export const defineEvent = <const N extends string, const P extends TProperties = Record<never, never>>(
  name: N,
  { data, feed = 'work', ...rest }: Description<P>,
): EventType<P, N> => ({ name, feed, data: data ?? ({} as P), ...rest })

/** Replaces the type by a word of the user. It has no dot, so it cannot equal a defined event. */
export function withHandLoggedType<P extends TProperties>(event: EventType<P>, type: string): EventType<P> {
  if (!isHandLogged(type)) throw new Error(`${type} is not a type for what is logged by hand`)
  return { ...event, name: type }
}
/** Words that people and agents log work on code with. */
const codeWords = new Set(['commit', 'push', 'merge', 'build', 'test', 'deploy', 'release'])

/** Whether a filter is the beginning of types: `task.`. */
export const isTypePrefix = (type: string): boolean => type.endsWith('.')

export const isHandLogged = (type: string): boolean => !type.includes('.')

/** Splits a type into its noun and its verb, which default phrases are made of. */
export function splitType(type: string): { noun: string; verb: string } {
  const dot = type.indexOf('.')
  return { noun: type.slice(0, dot), verb: type.slice(dot + 1) }
}

/**
 * The definitions of all features. Stored types without a definition are: entries logged by hand, the id of an action
 * that emitted nothing (audit only), and events of an older or newer version of this program.
 */
export class EventCatalogue {
  readonly #byName: ReadonlyMap<string, EventType>

  constructor(readonly all: readonly EventType[]) {
    this.#byName = new Map(all.map((event) => [event.name, event]))
    if (this.#byName.size < all.length) {
      const names = all.map(({ name }) => name)
      throw new Error(`defined twice: ${names.filter((name, i) => names.indexOf(name) < i).join(', ')}`)
    }
  }

  get(type: string): EventType | undefined {
    return this.#byName.get(type)
  }

  /** Returns the kind of record that a stored row is about; undefined for entries logged by hand. */
  kindOf(type: string): string | undefined {
    return this.get(type)?.kind ?? (isHandLogged(type) ? undefined : splitType(type).noun)
  }

  /** Returns the line of the staff for a stored row. An entry logged by hand is a note, or code for some words. */
  staffLineOf(type: string): StaffLine | undefined {
    return isHandLogged(type) ? (codeWords.has(type) ? 'code' : 'note') : this.get(type)?.line
  }

  /** Returns the types of the events that match. */
  types(which: (event: EventType) => boolean): string[] {
    return this.all.filter(which).map(({ name }) => name)
  }

  /**
   * Returns true if a credential may have gained or lost rights by the event. Also true for an unknown type, which may
   * come from a newer instance on the same database: reading rights once more is cheap and never wrong.
   */
  changesRights({ type, action }: { type: string; action: string }): boolean {
    const known = this.get(type)
    return known ? known.changes === 'rights' : type !== action && !isHandLogged(type)
  }
}

// ---- types of data fields

export const text = Type.String()
export const texts = Type.Array(Type.String())
export const number = Type.Number()
export const flag = Type.Boolean()
export const anything = Type.Unknown()

/** Returns the fields of `data` as text, for the printed catalogue. */
export const dataFields = (data: TProperties): { name: string; type: string; optional: boolean }[] =>
  Object.entries(data).map(([name, schema]) => ({ name, type: typeName(schema), optional: OptionalKind in schema }))

function typeName(schema: TSchema): string {
  if (Array.isArray(schema.anyOf)) return (schema.anyOf as TSchema[]).map(typeName).join(' or ')
  if (schema.type === 'array') return `list of ${typeName(schema.items as TSchema)}`
  return typeof schema.type === 'string' ? schema.type : 'any'
}
